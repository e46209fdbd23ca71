package client

import (
	"context"
	"iter"
	"maps"
	"net/url"
)

// Page is one page of a list.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"` // nil on the last page
}

// Each goes through all pages of a list. It ends at the first error, which comes
// with a zero item.
func Each[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return each[T](ctx, c, Call{Path: path, Query: query})
}

// each is Each for any call that reads a list.
func each[T any](ctx context.Context, c *Client, call Call) iter.Seq2[T, error] {
	return eachPage(call, func(call Call) ([]T, *string, error) {
		var page Page[T]
		_, err := c.Do(ctx, call, &page)
		return page.Items, page.NextCursor, err
	})
}

// eachPage goes through the items of all pages that fetch gets.
func eachPage[T any](call Call, fetch func(Call) (items []T, next *string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		call := call
		if call.Query = maps.Clone(call.Query); call.Query == nil {
			call.Query = url.Values{}
		}
		for {
			items, next, err := fetch(call)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			call.Query.Set("cursor", *next)
		}
	}
}

// collect gathers a whole list.
func collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	var items []T
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
