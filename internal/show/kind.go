package show

import "github.com/hocket-run/hocket/workflow"

// appearance is how nodes of a kind are drawn: the symbol in trees and the box in pictures.
type appearance struct {
	symbol string
	style  style
}

// appearances has an entry for each node kind.
var appearances = map[workflow.Kind]appearance{
	workflow.KindStart:   {"●", styleStart},
	workflow.KindEnd:     {"◉", styleEnd},
	workflow.KindAgent:   {"■", styleAgent},
	workflow.KindTool:    {"▸", styleTool},
	workflow.KindExec:    {"▸", styleTool},
	workflow.KindFunc:    {"ƒ", styleFunc},
	workflow.KindSet:     {"≔", styleFunc},
	workflow.KindSleep:   {"⏲", styleWait},
	workflow.KindDecide:  {"◆", styleDecide},
	workflow.KindWait:    {"◐", styleWait},
	workflow.KindFork:    {"∥", styleFork},
	workflow.KindMap:     {"⁝", styleFork},
	workflow.KindJoin:    {"⋈", styleJoin},
	workflow.KindSubflow: {"▤", styleSubflow},
}

// appearanceOf returns the appearance of a kind; unknown kinds are drawn as functions with a
// question mark.
func appearanceOf(k workflow.Kind) appearance {
	if l, ok := appearances[k]; ok {
		return l
	}
	return appearance{"?", styleFunc}
}
