package definition

// PlainJSON turns a file in any syntax that ParseDraft reads (JSON, JSON with
// comments and trailing commas, YAML) into compact JSON. The error is a
// *rondo.Error that says where it cannot be read.
func PlainJSON(src []byte) ([]byte, error) {
	body, err := plainJSON(src)
	if err != nil {
		return nil, unreadable(err)
	}
	return body, nil
}
