package area

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// PageProduct is the page of an application's texts for buyers, with a ProductView.
const PageProduct = "product"

// ProductPages builds that page.
type ProductPages struct {
	URL     string                    // of the page; the icon is posted to its /icon
	Tabs    *ui.Tabs                  // nil if none
	Heading string                    // of the page
	May     bool                      // the person may change it
	Call    ui.Curl                   // the call that changes it, without its content
	Plan    func(partner.Plan) string // returns the page that changes a plan's texts, "" if the person may not
}

// ProductView shows the texts of an application for buyers.
type ProductView struct {
	ProductPages
	Icon      string // URL, "" if there is none
	IconError string
	Form      ui.Form
	Facts     []Fact // for people who may not change them
	Seen      ui.Param
	Shop      string // the page that buyers see
	Plans     ui.Table
	Problem   string
}

// View builds the page of a product with its plans.
func (p ProductPages) View(product partner.Product, plans []partner.Plan) ProductView {
	p.Call.JSON = productJSON(product)
	seen := SeenProduct(product)
	return ProductView{
		ProductPages: p, Icon: product.IconPath(), Form: productForm(product), Facts: seen.Facts[:len(seen.Facts)-1],
		Seen: seen.Param(),
		Shop: partner.ProductPath(product.PartnerID), Plans: p.plans(plans),
	}
}

// SeenProduct returns the state of a product that the page showed.
func SeenProduct(p partner.Product) Seen {
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
	}}
}

// ReadProduct reads the form of a product.
func ReadProduct(r *http.Request) partner.ProductChange {
	text := func(name string) *string { return new(ui.FormText(r, name)) }
	return partner.ProductChange{
		Tagline: text("tagline"), Description: text("description"), Website: text("website"),
		SupportEmail: text("support_email"), RefundTerms: text("refund_terms"),
	}
}

// ReadIcon reads the form of the icon: a picture, or the button that removes it.
func ReadIcon(r *http.Request) (partner.ProductChange, error) {
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

// Refuse writes an error at its field, with the typed value, or above the form.
func (v *ProductView) Refuse(r *http.Request, refused error) {
	f := fault.Of(refused)
	if f.Field == "icon" {
		v.IconError = "Icon " + strings.TrimPrefix(f.Text, "icon ")
		return
	}
	for i := range v.Form.Fields {
		if field := &v.Form.Fields[i]; r.PostForm.Has(field.Name) {
			field.Value = ui.FormText(r, field.Name)
		}
	}
	v.Form.Refuse(refused)
	v.Problem = v.Form.Problem
}

// productJSON returns the equivalent API body.
func productJSON(p partner.Product) string {
	text, err := json.Marshal(map[string]any{"tagline": p.Tagline})
	if err != nil {
		return "" // strings cannot fail
	}
	return string(text)
}

// plans lists the texts of plans.
func (p ProductPages) plans(list []partner.Plan) ui.Table {
	t := ui.Table{ID: "plans", Caption: "Plans, in the order of the product page", Cards: true, Columns: []ui.Column{
		{Label: "Name"}, {Label: "Price", Number: true}, {Label: "Features", Wrap: true}, {Label: "Recommended"},
	}}
	for _, plan := range list {
		name := ui.Cell{Text: plan.DisplayName()}
		if at := p.Plan(plan); at != "" {
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
			"max_per_buyer",
			"must be empty or a whole number from 0 to %d.",
			partner.MaxPerBuyer,
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

// ReadPlanTexts reads these fields, and keeps the typed values for when the page is shown again. A
// form without them, such as an older one, leaves the texts unchanged.
func ReadPlanTexts(r *http.Request, form *ui.Form) (partner.PlanTexts, error) {
	if !r.PostForm.Has("features") {
		return partner.PlanTexts{}, nil
	}
	recommended := ui.FormText(r, "recommended") != ""
	for i := range form.Fields {
		switch field := &form.Fields[i]; field.Name {
		case "description", "features", "sort", "max_per_buyer":
			field.Value = ui.FormText(r, field.Name)
		case "recommended":
			field.Checked = recommended
		}
	}
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
