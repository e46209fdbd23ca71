package flow

import "github.com/rondo-engine/rondo"

// The actions as commands spell them.
const (
	ActionHalt   = string(rondo.ActionHalt)
	ActionResume = string(rondo.ActionResume)
	ActionCancel = string(rondo.ActionCancel)
)
