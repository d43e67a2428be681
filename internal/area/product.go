package area

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// productView shows the texts of an application for buyers.
type productView struct {
	Heading   string
	Tabs      *ui.Tabs
	URL       string // of the page; the icon is posted to its /icon
	May       bool   // the person may change it
	Icon      string // URL, "" if there is none
	IconError string
	Form      ui.Form
	Facts     []Fact // for people who may not change them
	Seen      ui.Param
	Shop      string // the page that buyers see
	Plans     ui.Table
	Call      ui.Curl
}

// Product returns the rows of an application's texts for buyers.
func (p *PartnerPages) Product() []Route {
	s := p.subject("/product")
	s.add(Page, "", func(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
		return p.showProduct(w, r, v, nil)
	})
	s.add(Act, "", p.changeProduct)
	s.add(Act, "/icon", p.changeIcon)
	s.rows[len(s.rows)-1].Upload = true
	return s.rows
}

// showProduct shows the current texts, and after a refusal the errors.
func (p *PartnerPages) showProduct(w http.ResponseWriter, r *http.Request, v *PartnerVisit, refused error) error {
	product, err := p.Partners.Product(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	plans, err := p.Partners.Plans(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	seen := seenProduct(product)
	view := productView{
		Heading: v.heading("Product"), Tabs: v.tabs(), URL: v.url, May: v.may,
		Icon: product.IconPath(), Form: productForm(product), Facts: seen.Facts[:len(seen.Facts)-1],
		Seen: seen.Param(), Shop: partner.ProductPath(product.PartnerID), Plans: p.planTable(v, plans),
		Call: v.call("The same by API", http.MethodPatch, "/product"),
	}
	view.Call.JSON = JSON(map[string]any{"tagline": product.Tagline})
	page := ui.View{Title: view.Heading}
	if f := fault.Of(refused); f != nil {
		page.Status = wire.Status(f.Kind)
		view.refuse(r, f)
	}
	page.Data = view
	return v.render(w, r, "product", page)
}

// changeProduct saves the texts, unless they have changed since they were shown.
func (p *PartnerPages) changeProduct(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	product, err := p.Partners.Product(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	change, err := readProduct(r)
	if err == nil {
		err = seenProduct(product).Unchanged(r)
	}
	return p.saveProduct(w, r, v, change, err)
}

func (p *PartnerPages) changeIcon(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
	change, err := readIcon(r)
	return p.saveProduct(w, r, v, change, err)
}

// saveProduct saves a change, unless err refuses it.
func (p *PartnerPages) saveProduct(
	w http.ResponseWriter, r *http.Request, v *PartnerVisit, change partner.ProductChange, err error,
) error {
	if err == nil {
		_, err = p.Partners.ChangeProduct(r.Context(), v.Actor(), v.Partner.ID, change)
	}
	switch {
	case fault.Of(err) != nil:
		return p.showProduct(w, r, v, err)
	case err != nil:
		return err
	}
	return v.done(w, r, "Saved. Buyers see it from now on.")
}

// seenProduct returns the state of a product that the page showed.
func seenProduct(p partner.Product) Seen {
	version := "none"
	if !p.UpdatedAt.IsZero() {
		version = p.UpdatedAt.Format(time.RFC3339Nano)
	}
	return Seen{Version: version, Facts: []Fact{
		{"Tagline", p.Tagline},
		{"Description", p.Description},
		{"Website", p.Website},
		{"Support email", p.SupportEmail},
		{"Refund terms", p.RefundTerms},
		{"Refund days", strconv.Itoa(p.RefundDays)},
		{"Icon", p.Icon},
	}}
}

func productForm(p partner.Product) ui.Form {
	return ui.Form{Fields: []ui.Field{
		{
			Name:         "tagline",
			Label:        "Tagline",
			Value:        p.Tagline,
			Autocomplete: "off",
			Hint:         "One line beneath the name, up to 100 characters.",
		},
		{
			Name:  "description",
			Label: "Description",
			Type:  "textarea",
			Rows:  10,
			Value: p.Description,
			Hint:  "Markdown: paragraphs, ### headings, lists, **bold**, links. No images and no HTML.",
		},
		{
			Name:         "website",
			Label:        "Website",
			Type:         "url",
			Value:        p.Website,
			Autocomplete: "off",
			Hint:         "Such as https://example.com.",
		},
		{
			Name:         "support_email",
			Label:        "Support email",
			Type:         "email",
			Value:        p.SupportEmail,
			Autocomplete: "off",
			Hint:         "Whom buyers ask about the application. Everybody can read it.",
		},
		{
			Name:  "refund_terms",
			Label: "Refund terms",
			Type:  "textarea",
			Rows:  3,
			Value: p.RefundTerms,
			Hint:  "Beneath the plans, such as: Your money back within 30 days.",
		},
		{
			Name:         "refund_days",
			Label:        "Refund days",
			Value:        strconv.Itoa(p.RefundDays),
			Autocomplete: "off",
			Hint: "For how many days after a payment its buyer can ask for the money back here, up to 365; 0 for " +
				"none. " +
				"A change applies to later payments only.",
		},
	}}
}

// readProduct reads the form of a product. A form without the refund days, such as an older one,
// leaves them unchanged.
func readProduct(r *http.Request) (partner.ProductChange, error) {
	text := func(name string) *string { return new(ui.FormText(r, name)) }
	change := partner.ProductChange{
		Tagline: text("tagline"), Description: text("description"), Website: text("website"),
		SupportEmail: text("support_email"), RefundTerms: text("refund_terms"),
	}
	if r.PostForm.Has("refund_days") {
		days, err := strconv.Atoi(ui.FormText(r, "refund_days"))
		if err != nil {
			return change, fault.Field("refund_days", "must be a whole number from 0 to %d.", partner.MaxRefundDays)
		}
		change.RefundDays = &days
	}
	return change, nil
}

// readIcon reads the form of the icon: a picture, or the button that removes it.
func readIcon(r *http.Request) (partner.ProductChange, error) {
	icon, err := ui.ReadUpload(r, "icon")
	switch {
	case err != nil:
		return partner.ProductChange{}, err
	case r.PostFormValue("remove") == "yes":
		icon = []byte{}
	case len(icon) == 0:
		return partner.ProductChange{}, fault.Field("icon", "is missing; choose a file and send it again.")
	}
	return partner.ProductChange{Icon: &icon}, nil
}

// refuse writes an error at its field, with the typed value, or above the form.
func (v *productView) refuse(r *http.Request, f *fault.Error) {
	if f.Field == "icon" {
		v.IconError = "Icon " + strings.TrimPrefix(f.Text, "icon ")
		return
	}
	for i := range v.Form.Fields {
		if field := &v.Form.Fields[i]; r.PostForm.Has(field.Name) {
			field.Value = ui.FormText(r, field.Name)
		}
	}
	v.Form.Refuse(f)
}

// planTable lists the texts of plans.
func (p *PartnerPages) planTable(v *PartnerVisit, list []partner.Plan) ui.Table {
	t := ui.Table{ID: "plans", Caption: "Plans, in the order of the product page", Cards: true, Columns: []ui.Column{
		{Label: "Name"}, {Label: "Price", Number: true}, {Label: "Features", Wrap: true}, {Label: "Recommended"},
	}}
	for _, plan := range list {
		name := ui.Cell{Text: plan.DisplayName()}
		if v.may {
			at := fmt.Sprintf("%s%s/%d", v.Base, p.Plans, plan.Tier)
			name.Acts = ui.Links(ui.RowLink{Label: "Change", Of: plan.DisplayName(), URL: at})
		}
		recommended := ""
		if plan.Recommended {
			recommended = "Yes"
		}
		t.Rows = append(t.Rows, ui.Row{ID: "plan-" + strconv.Itoa(plan.Tier), Cells: []ui.Cell{
			name,
			{Text: money.Text(plan.PriceCents, plan.Currency)},
			{Text: strings.Join(plan.Features, " · ")},
			{Text: recommended},
		}})
	}
	return t
}

// PlanTextFields returns the fields of a plan's texts for buyers.
func PlanTextFields(p partner.Plan) []ui.Field {
	return []ui.Field{
		{
			Name:  "description",
			Label: "Description",
			Type:  "textarea",
			Rows:  2,
			Value: p.Description,
			Hint:  "For whom the plan is, in a sentence.",
		},
		{
			Name:  "features",
			Label: "Features",
			Type:  "textarea",
			Rows:  5,
			Value: strings.Join(p.Features, "\n"),
			Hint:  "What it comes with, one per line, up to 20.",
		},
		{
			Name:    "recommended",
			Label:   "Recommend this plan",
			Type:    "checkbox",
			Checked: p.Recommended,
			Hint:    "Its button stands out, and no other plan is recommended.",
		},
		{
			Name:         "sort",
			Label:        "Place",
			Value:        strconv.Itoa(p.Sort),
			Autocomplete: "off",
			Hint:         "The lowest number comes first; plans with the same come by their tier.",
		},
		{
			Name:         "max_per_buyer",
			Label:        "Licenses per buyer",
			Value:        limitText(p.MaxPerBuyer),
			Autocomplete: "off",
			Hint: "The most that one person can get in the shop, up to 1,000; 0 for no limit. Empty: 1 " +
				"while the plan is free, no limit otherwise.",
		},
	}
}

// limitText formats a limit per buyer for a form, "" if it is not set.
func limitText(l partner.BuyerLimit) string {
	if !l.Set {
		return ""
	}
	return strconv.Itoa(l.Max)
}

// readLimit parses the text of limitText.
func readLimit(text string) (partner.BuyerLimit, error) {
	if text == "" {
		return partner.BuyerLimit{}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > partner.MaxPerBuyer {
		return partner.BuyerLimit{}, fault.Field(
			"max_per_buyer", "must be empty or a whole number from 0 to %d.", partner.MaxPerBuyer,
		)
	}
	return partner.BuyerLimitOf(n), nil
}

// PlanTextFacts returns the facts of a page with these fields.
func PlanTextFacts(p partner.Plan) []Fact {
	return []Fact{
		{"Description", p.Description},
		{"Features", strings.Join(p.Features, "\n")},
		{"Recommended", strconv.FormatBool(p.Recommended)},
		{"Place", strconv.Itoa(p.Sort)},
		{"Licenses per buyer", limitText(p.MaxPerBuyer)},
	}
}

// ReadPlanTexts reads these fields. A form without them, such as an older one, leaves the texts
// unchanged.
func ReadPlanTexts(r *http.Request) (partner.PlanTexts, error) {
	if !r.PostForm.Has("features") {
		return partner.PlanTexts{}, nil
	}
	recommended := ui.FormText(r, "recommended") != ""
	features := []string{}
	for line := range strings.Lines(ui.FormText(r, "features")) {
		if line = strings.TrimSpace(line); line != "" {
			features = append(features, line)
		}
	}
	texts := partner.PlanTexts{
		Description: new(ui.FormText(r, "description")),
		Features:    &features,
		Recommended: &recommended,
	}
	if place := ui.FormText(r, "sort"); place != "" {
		n, err := strconv.Atoi(place)
		if err != nil {
			return texts, fault.Field("sort", "must be a whole number, such as 0 or 10.")
		}
		texts.Sort = &n
	}
	if r.PostForm.Has("max_per_buyer") { // an older form has only the other fields
		limit, err := readLimit(ui.FormText(r, "max_per_buyer"))
		if err != nil {
			return texts, err
		}
		texts.MaxPerBuyer = &limit
	}
	return texts, nil
}
