package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/validate"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// trigger is an act of the command on a license.
type trigger struct {
	client    *operator.Client
	partnerID int64
	license   string
	tier      int
	email     string
	raw       []byte // the body of the call; nil: made from the others
}

// triggers are the acts by name. Each changes a license and returns its keys.
var triggers = map[string]func(*trigger, context.Context) ([]string, error){
	"purchase":   (*trigger).purchase,
	"activate":   (*trigger).activate,
	"deactivate": (*trigger).deactivate,
	"plan":       (*trigger).plan,
	"refund":     (*trigger).refund,
}

// triggerNames are in their usual order.
var triggerNames = []string{"purchase", "activate", "plan", "deactivate", "refund"}

func triggerCommand() *cobra.Command {
	t := &trigger{}
	var raw string
	cmd := &cobra.Command{
		Use:   "trigger purchase|activate|plan|deactivate|refund",
		Short: "Have something happen to a license of a running service, as its webhooks then tell",
		Long: "Does what it says to a license, by the operator's API. These are real acts with real events and " +
			"webhooks: use it against claviger dev, or an installation for tests.\n\n" +
			"    purchase    sells a license\n" +
			"    activate    activates it on behalf of its owner; --email says who that becomes\n" +
			"    plan        changes its plan to --tier\n" +
			"    deactivate  disconnects it, as its owner can; activate connects it again\n" +
			"    refund      refunds it\n\n" +
			"Without --license a new one is sold first, and activated where that is needed. " +
			"--raw sends the body of a file to the operator's API in place of one made from the flags. Prints the " +
			"license as it is then.",
		Example: "claviger trigger purchase --tier 2 --email buyer@example.com\n" +
			"claviger trigger plan --license 3794577c-3a4f-4d0c-9c5e-0d6c2f0fc550 --tier 3",
		Args:      triggerArgs,
		ValidArgs: triggerNames,
	}
	r := operatorFlags(cmd)
	cmd.Flags().Int64Var(&t.partnerID, "partner", 0, "Id of the partner to sell for; without it, the only one")
	cmd.Flags().StringVar(&t.license, "license", "", "License key; without it, a new license is sold")
	cmd.Flags().IntVar(&t.tier, "tier", 0, "Tier to sell or change to; without it, the lowest is sold")
	cmd.Flags().StringVar(&t.email, "email", "", "Address of the buyer")
	cmd.Flags().StringVar(&raw, "raw", "", "File with the JSON body of the call; - is standard input")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := t.valid(args[0], raw); err != nil {
			return err
		}
		var err error
		if raw != "" {
			if t.raw, err = readShort(cmd.InOrStdin(), "--raw", raw); err != nil {
				return err
			}
			if !json.Valid(t.raw) {
				return usage("--raw %s is not JSON", raw)
			}
		}
		if t.client, err = r.openOperator(); err != nil {
			return err
		}
		keys, err := triggers[args[0]](t, cmd.Context())
		if err != nil {
			return answered(err)
		}
		return t.print(cmd, r.asJSON, keys)
	}
	return cmd
}

// triggerArgs requires one of the acts.
func triggerArgs(cmd *cobra.Command, args []string) error {
	if err := exactly("act")(cmd, args); err != nil {
		return err
	}
	if slices.Contains(triggerNames, args[0]) {
		return nil
	}
	if near := validate.Nearest(args[0], triggerNames); near != "" {
		return usage("there is no act %q; did you mean %s?", args[0], near)
	}
	return usage("there is no act %q; it is one of %s", args[0], strings.Join(triggerNames, ", "))
}

// valid refuses flags that the act does not use.
func (t *trigger) valid(act, raw string) error {
	switch {
	case act == "purchase" && t.license != "":
		return usage("a purchase makes its own license; leave --license out, or trigger plan")
	case act == "plan" && t.tier == 0 && raw == "":
		return usage("to which plan? Name its tier with --tier")
	case t.tier < 0:
		return usage("--tier is at least 1")
	case act == "deactivate" && raw != "":
		return usage("the call of deactivate has no body; leave --raw out")
	}
	return nil
}

// purchase sells a license, or those of the raw order.
func (t *trigger) purchase(ctx context.Context) ([]string, error) {
	var sale operator.Sale
	if t.raw != nil {
		if err := t.send(ctx, "purchases", &sale); err != nil {
			return nil, err
		}
	} else {
		order, err := t.order(ctx)
		if err != nil {
			return nil, err
		}
		if sale, err = t.client.CreatePurchase(ctx, order); err != nil {
			return nil, err
		}
	}
	var keys []string
	for _, l := range sale.Licenses.Items {
		keys = append(keys, l.LicenseKey)
	}
	return keys, nil
}

// order completes a partly specified purchase.
func (t *trigger) order(ctx context.Context) (operator.NewPurchase, error) {
	o := operator.NewPurchase{PartnerID: t.partnerID, Tier: t.tier}
	if t.email != "" {
		o.User = &operator.Person{Email: &t.email}
	}
	if o.PartnerID == 0 {
		var err error
		if o.PartnerID, err = onlyPartner(ctx, t.client); err != nil {
			return o, err
		}
	}
	if o.Tier == 0 {
		plans, err := t.client.Plans(ctx, o.PartnerID)
		if err != nil {
			return o, err
		}
		if len(plans) == 0 {
			return o, &failure{exitRefused, errors.New("the partner has no plans; add one first")}
		}
		o.Tier = plans[0].Tier
	}
	return o, nil
}

// given returns the named license, or a new one.
func (t *trigger) given(ctx context.Context, active bool) (string, error) {
	if t.license != "" {
		return t.license, nil
	}
	raw := t.raw
	tier := t.tier
	t.raw = nil
	if active {
		t.tier = 0 // --tier belongs to the change
	}
	keys, err := t.purchase(ctx)
	t.raw = raw
	t.tier = tier
	if err != nil || !active {
		return strings.Join(keys, ""), err
	}
	t.license = keys[0]
	_, err = t.activate(ctx)
	return keys[0], err
}

// owner returns the owner of an unclaimed license.
func (t *trigger) owner() *operator.Person {
	email := t.email
	if email == "" {
		email = "trigger@example.com"
	}
	return &operator.Person{Email: &email}
}

func (t *trigger) activate(ctx context.Context) ([]string, error) {
	key, err := t.given(ctx, false)
	if err != nil {
		return nil, err
	}
	if t.raw != nil {
		return []string{key}, t.send(ctx, "licenses/"+url.PathEscape(key)+"/activate", nil)
	}
	who := t.owner()
	if t.email == "" {
		l, err := t.client.License(ctx, key)
		if err != nil {
			return nil, err
		}
		if l.OwnerID != 0 {
			who = nil // It has an owner already.
		}
	}
	_, err = t.client.Activate(ctx, key, who)
	return []string{key}, err
}

func (t *trigger) deactivate(ctx context.Context) ([]string, error) {
	key, err := t.given(ctx, true)
	if err != nil {
		return nil, err
	}
	_, err = t.client.Release(ctx, key)
	return []string{key}, err
}

func (t *trigger) plan(ctx context.Context) ([]string, error) {
	key, err := t.given(ctx, true)
	if err != nil {
		return nil, err
	}
	if t.raw != nil {
		return []string{key}, t.send(ctx, "licenses/"+url.PathEscape(key)+"/plan", nil)
	}
	_, err = t.client.ChangePlan(ctx, key, operator.PlanChange{Tier: t.tier})
	return []string{key}, err
}

func (t *trigger) refund(ctx context.Context) ([]string, error) {
	if t.raw != nil {
		var refunded operator.RefundOutcome
		err := t.send(ctx, "refunds", &refunded)
		var keys []string
		for _, l := range refunded.Licenses.Items {
			keys = append(keys, l.LicenseKey)
		}
		return keys, err
	}
	key, err := t.given(ctx, true)
	if err != nil {
		return nil, err
	}
	_, err = t.client.CreateRefund(ctx, operator.NewRefund{LicenseKey: &key})
	return []string{key}, err
}

// send posts the raw body to a path of the operator's API.
func (t *trigger) send(ctx context.Context, path string, to any) error {
	resp, err := t.client.Send(ctx, operator.Request{
		Method: http.MethodPost, Path: "/operator/v1/" + path, Body: json.RawMessage(t.raw),
		IdempotencyKey: rand.Text(),
	})
	if err != nil {
		return err
	}
	if resp.Status/100 != 2 {
		refused := &claviger.Error{Message: http.StatusText(resp.Status)}
		_ = json.Unmarshal(resp.Body, refused) // an answer in another form still has its status
		refused.Status = resp.Status
		return refused
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(resp.Body, to); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// print writes the current state of the licenses.
func (t *trigger) print(cmd *cobra.Command, asJSON bool, keys []string) error {
	var list []operator.OperatorLicense
	for _, key := range keys {
		l, err := t.client.License(cmd.Context(), key)
		if err != nil {
			return answered(err)
		}
		list = append(list, l)
	}
	return printList(cmd, asJSON, list, append([]string{"partner"}, licenseColumns...), operatorLicenseRow)
}
