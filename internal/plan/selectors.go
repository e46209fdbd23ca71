package plan

// selector is one declarative read; nil reads nothing.
type selector any
