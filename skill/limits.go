package skill

// Or fills in the defaults.
func (l Limits) Or() Limits {
	if l.Output <= 0 {
		l.Output = DefaultOutput
	}
	if l.Artifact <= 0 {
		l.Artifact = DefaultArtifact
	}
	return l
}
