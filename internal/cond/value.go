package cond

// maxValueDepth bounds how deep two values are compared. Inbound JSON is far
// shallower; the bound keeps a cyclic value from exhausting the stack.
const maxValueDepth = 1000

// equal compares two JSON values deeply and without coercion. It is not ok when
// either is nested too deep or is of another type.
func equal(left, right any, depth int) (same, ok bool) {
	if depth > maxValueDepth {
		return false, false
	}
	switch l := left.(type) {
	case nil:
		return right == nil, isValue(right)
	case bool:
		r, match := right.(bool)
		return match && l == r, isValue(right)
	case float64:
		r, match := right.(float64)
		return match && l == r, isValue(right)
	case string:
		r, match := right.(string)
		return match && l == r, isValue(right)
	case []any:
		r, match := right.([]any)
		if !match || len(l) != len(r) {
			return false, isValue(right)
		}
		for i := range l {
			if same, ok := equal(l[i], r[i], depth+1); !same || !ok {
				return false, ok
			}
		}
		return true, true
	case map[string]any:
		r, match := right.(map[string]any)
		if !match || len(l) != len(r) {
			return false, isValue(right)
		}
		for name, value := range l {
			other, there := r[name]
			if !there {
				return false, true
			}
			if same, ok := equal(value, other, depth+1); !same || !ok {
				return false, ok
			}
		}
		return true, true
	}
	return false, false
}

func isValue(v any) bool {
	switch v.(type) {
	case nil, bool, float64, string, []any, map[string]any:
		return true
	}
	return false
}

// typeName names the type of a value for messages, which never show the value.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a value of an unknown type"
}
