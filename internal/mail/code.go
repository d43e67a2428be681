package mail

// The codes of faults.
const (
	codeUnknownMail = "unknown_mail"
	codeMailGone    = "mail_gone"
)
