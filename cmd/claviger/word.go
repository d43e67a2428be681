package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/validate"
)

// wordFlag gives cmd a flag that is one of some words: others are refused, and the
// shell completes them.
func wordFlag(cmd *cobra.Command, name, help string, words ...string) *string {
	w := &word{allowed: words}
	cmd.Flags().Var(w, name, help+": "+strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	completeWords(cmd, name, words...)
	return &w.value
}

// completeWords has the shell complete the values of a flag, which cmd has.
func completeWords(cmd *cobra.Command, name string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was made by the caller
	}
}

// word is the value of a wordFlag.
type word struct {
	value   string
	allowed []string
}

func (w *word) String() string { return w.value }
func (w *word) Type() string   { return "word" }

func (w *word) Set(s string) error {
	if !slices.Contains(w.allowed, s) {
		if near := validate.Nearest(s, w.allowed); near != "" {
			return fmt.Errorf("did you mean %s?", near)
		}
		return fmt.Errorf("it is one of %s", strings.Join(w.allowed, ", "))
	}
	w.value = s
	return nil
}
