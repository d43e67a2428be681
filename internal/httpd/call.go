package httpd

import (
	"net/http"

	"claviger/internal/requestlog"
	"claviger/internal/wire"
)

// logCall stores the outcome of a partner's call: a refused one with its reason, others as a count.
// It never blocks.
func (s *Server) logCall(r *http.Request, note *wire.RequestLog, status int) {
	partnerID := note.Partner
	if partnerID == 0 {
		partnerID = note.Named
	}
	refused := status >= http.StatusBadRequest || note.Err != nil
	switch {
	case s.Requests == nil || partnerID == 0 || note.Gone:
	case !refused && note.Partner != 0:
		s.Requests.Answered(partnerID)
	case refused:
		code, text, cause := note.Refusal(status)
		s.Requests.Refused(requestlog.Call{
			PartnerID: partnerID, Proven: note.Partner != 0, Limited: status == http.StatusTooManyRequests,
			Method: r.Method, Path: r.URL.Path, Route: note.Route, Status: status,
			Code: code, Cause: cause, Message: text, RequestID: note.ID, License: note.License,
			LicenseID: note.LicenseID,
		})
	}
}
