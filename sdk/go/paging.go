package svc

import (
	"context"
	"reflect"
)

// Page is one page of a list.
type Page[T any] struct {
	Data []T `json:"data"`
	// HasMore tells whether there are more objects in this direction.
	HasMore bool `json:"has_more"`
	Cursors struct {
		Next     *string `json:"next"`
		Previous *string `json:"previous"`
	} `json:"cursors"`
}

// Pages is a list. It loads pages as you need them, and nothing before. A list with EndingBefore goes backwards, towards the
// beginning.
//
//	orders := client.Orders.List(ctx, nil)
//	for orders.Next() {
//		fmt.Println(orders.Item().ID)
//	}
//	if err := orders.Err(); err != nil { … }
type Pages[T any] struct {
	ctx       context.Context
	client    *Client
	call      call
	backwards bool
	items     []T
	item      *T
	cursor    *string
	started   bool
	err       error
}

func newPages[T any](ctx context.Context, client *Client, one call) *Pages[T] {
	pages := &Pages[T]{ctx: ctx, client: client, call: one}
	if one.query != nil {
		before, has := cursorOf(one.query, "EndingBefore")
		pages.backwards = has && before != ""
	}
	return pages
}

func cursorOf(params any, name string) (string, bool) {
	field := reflect.ValueOf(params).Elem().FieldByName(name)
	if !field.IsValid() {
		return "", false
	}
	found, is := field.Interface().(Opt[string])
	return found.value, is && found.state == isSet
}

// Page loads the next page: first the one that the parameters name. It returns nil after the last one.
func (p *Pages[T]) Page() (*Page[T], error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.started && p.cursor == nil {
		return nil, nil
	}
	one := p.call
	if p.started {
		one.query = p.at(*p.cursor)
	}
	page, err := fetch[Page[T]](p.ctx, p.client, one)
	if err != nil {
		p.err = err
		return nil, err
	}
	p.started = true
	p.cursor = page.Cursors.Next
	if p.backwards {
		p.cursor = page.Cursors.Previous
	}
	return page, nil
}

// at is a copy of the parameters with another cursor.
func (p *Pages[T]) at(cursor string) any {
	original := reflect.ValueOf(p.call.query)
	if !original.IsValid() || original.IsNil() {
		return &struct {
			StartingAfter Opt[string] `svc:"starting_after"`
		}{String(cursor)}
	}
	params := reflect.New(original.Elem().Type())
	params.Elem().Set(original.Elem())
	after, before := String(cursor), Opt[string]{}
	if p.backwards {
		after, before = before, after
	}
	params.Elem().FieldByName("StartingAfter").Set(reflect.ValueOf(after))
	params.Elem().FieldByName("EndingBefore").Set(reflect.ValueOf(before))
	return params.Interface()
}

// Next goes to the next object. It returns false after the last one, and after an error.
func (p *Pages[T]) Next() bool {
	for len(p.items) == 0 {
		page, err := p.Page()
		if err != nil || page == nil {
			return false
		}
		p.items = page.Data
	}
	if p.backwards {
		last := len(p.items) - 1
		p.item, p.items = &p.items[last], p.items[:last]
	} else {
		p.item, p.items = &p.items[0], p.items[1:]
	}
	return true
}

// Item is the object that Next went to.
func (p *Pages[T]) Item() *T { return p.item }

// Err is the error that ended the list.
func (p *Pages[T]) Err() error { return p.err }

// All iterates over all objects. With Go 1.23 and newer: for order, err := range client.Orders.List(ctx, nil).All() { … }
func (p *Pages[T]) All() func(yield func(*T, error) bool) {
	return func(yield func(*T, error) bool) {
		for p.Next() {
			if !yield(p.item, nil) {
				return
			}
		}
		if p.err != nil {
			yield(nil, p.err)
		}
	}
}

// ToSlice returns at most limit objects, which bounds memory and requests.
func (p *Pages[T]) ToSlice(limit int) ([]*T, error) {
	if limit < 1 {
		return nil, usage("ToSlice requires a limit of at least 1")
	}
	var found []*T
	for len(found) < limit && p.Next() {
		found = append(found, p.item)
	}
	return found, p.err
}
