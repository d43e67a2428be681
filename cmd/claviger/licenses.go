package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

func licensesCommand() *cobra.Command {
	cmd := group("licenses", "Look at licenses of a running service",
		"Asks the service at --url. With the API key of a partner you see that partner's licenses, with an operator "+
			"token those of all.")
	cmd.AddCommand(licensesListCommand(), licensesShowCommand(), licensesExplainCommand())
	return cmd
}

func licensesListCommand() *cobra.Command {
	var limit, tier int
	var key, email, externalID string
	var partnerID int64
	cmd := &cobra.Command{
		Use: "list", Short: "List licenses, the newest first",
		Long: "Lists licenses, the newest first. --tier needs an API key; --email, --external-id and --partner need " +
			"an operator token.",
		Example: "claviger licenses list --status active\n" +
			"claviger licenses list --key c550 --json\n" +
			"claviger licenses list --email buyer@example.com",
		Args: exactly(),
	}
	r := remoteFlags(cmd)
	status := wordFlag(cmd, "status", "Only those with this status", "inactive", "active", "deactivated")
	cmd.Flags().IntVar(&limit, "limit", 20, "How many at most")
	cmd.Flags().StringVar(&key, "key", "", "A license key; with an API key also its end, of four characters or more")
	cmd.Flags().IntVar(&tier, "tier", 0, "Only those of this tier")
	cmd.Flags().StringVar(&email, "email", "", "Only those bought for this address")
	cmd.Flags().StringVar(&externalID, "external-id", "", "Only those of the purchase with this external id")
	cmd.Flags().Int64Var(&partnerID, "partner", 0, "Only those of the partner with this id")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 {
			return usage("--limit is at least 1")
		}
		a, err := r.connect()
		if err != nil {
			return err
		}
		if a.partner != nil {
			if email != "" || externalID != "" || partnerID != 0 {
				return usage("--email, --external-id and --partner need an operator token; an API key sees the " +
					"licenses of one partner, and no buyers")
			}
			found, err := first(a.partner.SearchLicenses(cmd.Context(), claviger.SearchFilter{
				Key: key, Status: *status, Tier: tier, Limit: pageSize(limit),
			}), limit)
			if err != nil {
				return err
			}
			return printList(cmd, r.asJSON, found, licenseColumns, licenseRow)
		}
		if tier != 0 {
			return usage("--tier needs an API key; with an operator token use --status, --email, --external-id, " +
				"--partner or --key")
		}
		found, err := first(a.operator.Licenses(cmd.Context(), operator.LicenseSearch{
			LicenseKey: key, Email: email, ExternalID: externalID, PartnerID: partnerID,
			Status: operator.Status(*status), Order: operator.Order{Limit: pageSize(limit)},
		}), limit)
		if err != nil {
			return err
		}
		return printList(cmd, r.asJSON, found, append([]string{"partner"}, licenseColumns...), operatorLicenseRow)
	}
	return cmd
}

var licenseColumns = []string{"license key", "status", "tier", "created", "updated"}

func licenseRow(l claviger.License) []string {
	return []string{l.LicenseKey, string(l.Status), strconv.Itoa(l.Tier), stamp(l.CreatedAt), stamp(l.UpdatedAt)}
}

func operatorLicenseRow(l operator.OperatorLicense) []string {
	return []string{
		strconv.FormatInt(l.PartnerID, 10), l.LicenseKey, string(l.Status), strconv.Itoa(l.Tier),
		stamp(l.CreatedAt), stamp(l.UpdatedAt),
	}
}

func licensesShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <license key>", Short: "Show one license",
		Example: "claviger licenses show 3794577c-3a4f-4d0c-9c5e-0d6c2f0fc550",
		Args:    exactly("license key"),
	}
	r := remoteFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := r.connect()
		if err != nil {
			return err
		}
		var l any
		if a.partner != nil {
			l, err = a.partner.License(cmd.Context(), args[0])
		} else {
			l, err = a.operator.License(cmd.Context(), args[0])
		}
		if err != nil {
			return answered(err)
		}
		return printObject(cmd, r.asJSON, l)
	}
	return cmd
}

func licensesExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain <license key>", Short: "Say why a license has its status and tier",
		Example: "claviger licenses explain 3794577c-3a4f-4d0c-9c5e-0d6c2f0fc550",
		Args:    exactly("license key"),
	}
	r := remoteFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := r.connect()
		if err != nil {
			return err
		}
		var explained claviger.Explanation
		if a.partner != nil {
			explained, err = a.partner.Explain(cmd.Context(), args[0])
		} else {
			explained, err = a.operator.Explain(cmd.Context(), args[0])
		}
		if err != nil {
			return answered(err)
		}
		return answer{json: explained, out: strings.Join(explained.Explanation, "\n") + "\n"}.print(cmd, r.asJSON)
	}
	return cmd
}
