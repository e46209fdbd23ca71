package rondo

import "encoding/json"

// This file holds what the registry is asked for and what it answers, beyond
// the records themselves.

// DefinitionPatch changes a draft.
type DefinitionPatch struct {
	Source    []byte  // replaces the definition whole; nil = it stays
	ProductID *string // nil = it stays; "" = every product of the org
	Reason    string  // kept in the revision; "" = none
	// Match lists the revisions that the draft may have now: any other is
	// CodePrecondition. Nil matches every revision.
	Match []int64
}

// DefinitionCopy asks for a draft with the content of another definition.
type DefinitionCopy struct {
	ProductID *string // nil = that of the copied one; "" = every product of the org
	Name      string  // "" = that of the copied one
	Reason    string  // kept in the first revision; "" = none
}

// DefinitionDiff says what turns one definition into another.
type DefinitionDiff struct {
	From, To Definition
	Changes  []DefinitionChange // for people; empty = they say the same
	Patch    json.RawMessage    // JSON Patch (RFC 6902) from one body to the other
}

// DefinitionChange is one difference between two definitions.
type DefinitionChange struct {
	Pointer string `json:"pointer"` // JSON Pointer into the definition
	Message string `json:"message"` // what changed, in words
}

// Bundle is a definition with the organisation's own step kinds and reason codes
// that it needs: what one organisation exports and another imports.
type Bundle struct {
	Kind        DefinitionKind
	ProductID   string // "" = every product
	Source      []byte
	StepKinds   []StepKind   // Name and Contract count
	ReasonCodes []ReasonCode // all but ID and OrgID count
	Reason      string       // kept in the first revision; "" = none
}

// Imported says what an import found and what it made.
type Imported struct {
	Definition  Definition
	Created     bool     // false = the organisation had a definition with this content already
	StepKinds   []string // names of the kinds that were published
	ReasonCodes []string // "scope/code" of the codes that were added
}

// ReasonCodePatch changes a reason code; nil members stay. Scope and code are
// what it is and never change.
type ReasonCodePatch struct {
	Label               *string
	Description         *string
	RequiresNote        *bool
	ApplicableStepKinds *[]string
	Active              *bool
}

// ReasonCodeFilter narrows a list; zero fields do not filter.
type ReasonCodeFilter struct {
	Scope  string
	Active *bool
}
