package invitation

// The codes of this package's faults. Programs depend on them: they never change.
const (
	CodeInvalidInvitation  = "invalid_invitation"
	CodeInvitationExpired  = "invitation_expired"
	CodeInvitationNotYours = "invitation_not_yours"
	CodeTooManyInvitations = "too_many_invitations"
	codeUnknownInvitation  = "unknown_invitation"
)
