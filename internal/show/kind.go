package show

import "github.com/hocket-run/hocket/workflow"

// look is how nodes of a kind are drawn: the symbol in trees and the box in pictures.
type look struct {
	symbol string
	style  style
}

// looks has a row for each kind of nodes.
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

// lookOf gives the look of a kind; kinds that do not exist are drawn as functions, with a question mark.
func lookOf(k workflow.Kind) look {
	if l, ok := looks[k]; ok {
		return l
	}
	return look{"?", styleFunc}
}
