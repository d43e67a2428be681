package account

import (
	"fmt"

	"claviger/internal/mail"
)

// words is the text of an email with a link. In title and opening, %s is the marketplace.
type words struct {
	title   string
	opening string
	button  string
	life    string // how long the link works
	stray   string // advice if the reader did not ask for the email
	more    string
	plain   string // replaces the warning about the link if the link signs no one in
}

const ignore = "If you did not ask for this mail, you need not do anything: without the link, nothing happens."

var (
	confirmWords = words{
		title: "Confirm your email address for %s",
		opening: "Somebody signed up at %s with this email address. If it was you, open the link below to confirm " +
			"it and to sign in.",
		button: "Confirm the address and sign in",
		life:   "24 hours",
		more: "Open it in the browser in which you signed up, and the password that you chose works at once; in " +
			"another one we ask you to choose it again.",
		stray: "If it was not you, you need not do anything: without the link, the password that was typed there " +
			"never works.",
	}
	knownWords = words{
		title: "You already have an account at %s",
		opening: "Somebody signed up at %s with this email address, which has an account and a password already. " +
			"Nothing was changed. If it was you, sign in with your password, or by the link below.",
		button: "Sign in",
		life:   "15 minutes",
		stray:  ignore,
	}
	signInWords = words{
		title:   "Your sign-in link for %s",
		opening: "Here is the link that signs you in at %s.",
		button:  "Sign in",
		life:    "15 minutes",
		stray:   ignore,
	}
	emailWords = words{
		title: "Confirm your new email address for %s",
		opening: "Somebody with an account at %s wants to use this email address for it. If it was you, open the " +
			"link below where you are signed in.",
		button: "Confirm the address",
		life:   "15 minutes",
		stray:  ignore,
		plain:  "The link works once, for 15 minutes.",
	}
	movedWords = words{
		title: "Confirm your email address for %s",
		opening: "The team of %s changed the email address of your account to this one. Open the link below to " +
			"confirm it. Until then, nothing that was bought for it is shown. If you had a password, it no longer " +
			"works; you can choose a new one after you sign in.",
		button: "Confirm the address and sign in",
		life:   "15 minutes",
		more:   "If the link no longer works, ask for another one on the sign-in page.",
		stray:  ignore,
	}
	takenWords = words{
		title: "This email address has an account at %s already",
		opening: "Somebody with another account at %s wanted to use this email address for it. It has an account " +
			"already, so nothing was changed.",
		plain: "If it was you, sign in with this address, or delete the account that has it first.",
		stray: "If it was not you, you need not do anything.",
	}
	resetWords = words{
		title:   "Choose a new password for %s",
		opening: "Somebody asked to choose a new password for your account at %s. If it was you, open the link below.",
		button:  "Choose a new password",
		life:    "15 minutes",
		stray:   "If it was not you, you need not do anything: without the link, your password stays as it is.",
	}
)

func (w words) subject(marketplace string) string { return fmt.Sprintf(w.title, marketplace) }

// content returns the email to a user. It contains only the user's own name: text typed by a
// stranger must not reach people in our name.
func (w words) content(marketplace string, u User, url string) mail.Content {
	l := mail.Content{
		Title:   w.subject(marketplace),
		Hello:   u.hello(),
		Opening: []string{fmt.Sprintf(w.opening, marketplace)},
		Closing: []string{
			"The link works once, for " + w.life + ". Do not pass it on: whoever has it can sign in as you.",
		},
		Button: mail.Link{Name: w.button, URL: url},
		Foot:   fmt.Sprintf("You get this mail because somebody typed this address at %s.", marketplace),
	}
	if w.plain != "" {
		l.Closing = []string{w.plain}
	}
	if w.button == "" {
		l.Button = mail.Link{}
	}
	if w.more != "" {
		l.Closing = append(l.Closing, w.more)
	}
	l.Closing = append(l.Closing, w.stray)
	return l
}
