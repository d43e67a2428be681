// Package docs has the guides of this folder that pages quote, so that a sample stands
// in one place and is tested there.
package docs

import (
	_ "embed"
	"strings"
)

// The guides.
var (
	//go:embed webhooks.md
	Webhooks string
	//go:embed partner.md
	Partner string
)

// Blocks returns the blocks of code of a guide in a language, such as go or js.
func Blocks(guide, language string) []string {
	var all []string
	for {
		_, after, ok := strings.Cut(guide, "\n```"+language+"\n")
		if !ok {
			return all
		}
		var block string
		block, guide, _ = strings.Cut(after, "\n```\n")
		all = append(all, block)
	}
}
