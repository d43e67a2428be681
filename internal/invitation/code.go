package invitation

// Codes of this package's faults. Programs depend on them, so they never change.
const (
	CodeInvalidInvitation  = "invalid_invitation"
	CodeInvitationExpired  = "invitation_expired"
	CodeInvitationNotYours = "invitation_not_yours"
	CodeSignInAgain        = "sign_in_again"
	CodeTooManyInvitations = "too_many_invitations"
	codeUnknownInvitation  = "unknown_invitation"
)
