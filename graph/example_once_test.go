package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/graph"
)

// This node charges a card and then sends a mail. The mail server is down at first: the second
// attempt sends the mail and does not charge again.
func ExampleOnce() {
	type Order struct {
		Receipt string `json:"receipt"`
	}
	down := true
	pay := func(ctx context.Context, s *Order) error {
		receipt, err := graph.Once(ctx, "charge", func(context.Context) (string, error) {
			fmt.Println("charging the card")
			return "receipt 1", nil
		})
		if err != nil {
			return err
		}
		s.Receipt, err = graph.Once(ctx, "mail", func(context.Context) (string, error) {
			if down {
				down = false
				return "", errors.New("mail server is down")
			}
			fmt.Println("mailing", receipt)
			return receipt, nil
		})
		return err
	}
	g, err := graph.New[Order]("shop").Start(graph.Do("pay", pay)).Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	last, err := play(g, Order{})
	fmt.Println(last.Receipt, err)
	// Output:
	// charging the card
	// mailing receipt 1
	// receipt 1 <nil>
}
