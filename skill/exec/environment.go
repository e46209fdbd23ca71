package exec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// environment is all that a command knows of its surroundings.
func (s *Skill) environment(folder string) []string {
	env := []string{"HOME=" + folder, "TMPDIR=" + folder, "RONDO_WORK_DIR=" + folder, "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "SystemRoot"} {
		if value, ok := s.opts.Getenv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, entry := range s.cfg.Env {
		if strings.Contains(entry, "=") {
			env = append(env, entry)
		} else if value, ok := s.opts.Getenv(entry); ok {
			env = append(env, entry+"="+value)
		}
	}
	return env
}

// Outside has the hex SHA-256 of each variable that a configuration passes on, by
// env.NAME, so that keys follow values which the configuration does not have. A
// variable that is not set has a digest too, and another one than an empty one. PATH
// is not among them unless it is listed: what is in it is not the command's business.
func Outside(raw json.RawMessage, getenv func(name string) (string, bool)) map[string]string {
	var cfg Config
	if json.Unmarshal(raw, &cfg) != nil {
		return nil
	}
	var digests map[string]string
	for _, name := range cfg.Env {
		if strings.Contains(name, "=") {
			continue
		}
		said := "unset"
		if value, ok := getenv(name); ok {
			said = "=" + value
		}
		if digests == nil {
			digests = map[string]string{}
		}
		sum := sha256.Sum256([]byte(said))
		digests["env."+name] = hex.EncodeToString(sum[:])
	}
	return digests
}
