// Package layout computes positions for the boxes and arrows of a directed graph, top to bottom in
// layers.
//
// It does not depend on the meaning of the boxes, draws nothing, measures no text, and is
// deterministic: equal graphs get equal positions. Nested frames are the caller's responsibility: a
// frame is laid out first and is then one box of the surrounding graph.
//
// The flow (Sugiyama's method): reverse some edges until there is no cycle; assign every box to a
// layer (rank.go); cut long edges into pieces and order the layers so that few edges cross
// (order.go); compute x with the method of Brandes and Köpf, "Fast and Simple Horizontal Coordinate
// Assignment" (place.go); draw the edges through their pieces (route.go).
//
// Invariants: boxes do not overlap; every edge leads downwards through the layers, unless it was
// reversed; a label is on its edge and overlaps nothing else.
package layout
