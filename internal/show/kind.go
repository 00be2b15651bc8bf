package show

import "github.com/hocket-run/hocket/workflow"

// look is how nodes of a kind are drawn: the symbol in trees and the box in pictures.
type look struct {
	symbol string
	style  style
}

// looks has an entry for each node kind.
var looks = map[workflow.Kind]look{
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

// lookOf returns the look of a kind; unknown kinds are drawn as functions with a question mark.
func lookOf(k workflow.Kind) look {
	if l, ok := looks[k]; ok {
		return l
	}
	return look{"?", styleFunc}
}
