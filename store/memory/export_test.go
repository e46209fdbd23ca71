package memory

// Damage makes the stored state of a conversation unreadable.
func (s *Store) Damage(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversations[id].state = []byte(`{"step":`)
}

// Left counts what is stored about conversations.
func (s *Store) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conversations) + len(s.keys)
}
