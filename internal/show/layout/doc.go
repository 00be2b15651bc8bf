// Package layout finds places for the boxes and arrows of a directed graph, top to bottom in layers.
//
// It refuses to know what the boxes mean, to draw, to measure text, and to be random: equal graphs get equal places. Frames within frames are
// the caller's: a frame is laid out first and is then one box of the graph around it.
//
// The flow (Sugiyama's method): turn around some edges until there is no cycle; give every box a layer (rank.go); cut long edges into
// pieces and order the layers so that few edges cross (order.go); find x by the method of Brandes and Köpf, "Fast and Simple Horizontal
// Coordinate Assignment" (place.go); draw the edges through their pieces (route.go).
//
// Invariants: boxes do not overlap; every edge leads downwards through the layers, except where it was turned around; a label is on
// its edge and on nothing else.
package layout
