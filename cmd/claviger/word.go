package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/validate"
)

// wordFlag adds a flag that is one of some words to cmd. Others are refused, and the shell
// completes the words.
func wordFlag(cmd *cobra.Command, name, help string, words ...string) *string {
	w := &word{allowed: words}
	cmd.Flags().Var(w, name, help+": "+strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	completeWords(cmd, name, words...)
	return &w.value
}

// completeWords registers shell completions for the values of a flag.
func completeWords(cmd *cobra.Command, name string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(
		name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp),
	); err != nil {
		panic(err) // the caller created the flag
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
