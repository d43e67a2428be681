package app

import (
	"net/http"

	"claviger/internal/requestlog"
	"claviger/internal/wire"
)

// logRequest stores what became of a partner's call: a refused one with its reason, the
// others as a count. It is called at the end of every request and never waits.
func (a *App) logRequest(r *http.Request, note *wire.RequestLog, status int) {
	partnerID := note.Partner
	if partnerID == 0 {
		partnerID = note.Named
	}
	refused := status >= http.StatusBadRequest || note.Err != nil
	switch {
	case partnerID == 0 || note.Gone:
	case !refused && note.Partner != 0:
		a.services.Requests.Answered(partnerID)
	case refused:
		code, text, cause := note.Refusal(status)
		a.services.Requests.Refused(requestlog.Call{
			PartnerID: partnerID, Proven: note.Partner != 0, Limited: status == http.StatusTooManyRequests,
			Method: r.Method, Path: r.URL.Path, Route: note.Route, Status: status,
			Code: code, Cause: cause, Message: text, RequestID: note.ID, License: note.License, LicenseID: note.LicenseID,
		})
	}
}
