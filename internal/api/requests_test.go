package api_test

import (
	"claviger/internal/license"
	"claviger/internal/requestlog"
)

// refuse logs rejected calls: one of ours about a license, and two by strangers in our name.
func (h *harness) refuse(l license.License) {
	h.Helper()
	log := h.Harness.Requests
	log.Refused(requestlog.Call{
		PartnerID: h.ours.ID, Proven: true, Method: "POST", Path: "/openid/token", Route: "/openid/token", Status: 400,
		Code: "invalid_grant", Cause: "code_used", Message: "The code was used already. Each code works once; let the user connect again for a new one.",
		RequestID: "req_first", LicenseID: l.ID,
	})
	for range 2 {
		log.Refused(requestlog.Call{
			PartnerID: h.ours.ID, Method: "POST", Path: "/openid/token", Route: "/openid/token", Status: 401,
			Code: "invalid_client", Cause: "client_secret_wrong", Message: "The client_secret is not one of this client_id.", RequestID: "req_second",
		})
	}
	h.Must(log.Flush(h.Context()))
}
