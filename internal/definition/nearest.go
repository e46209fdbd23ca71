package definition

// Nearest returns the known word that somebody who wrote another most likely
// meant; "" when none is near, or the word is known.
func Nearest(word string, known []string) string { return nearest(word, known) }
