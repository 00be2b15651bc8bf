// many is the maximum number of boxes of a graph that are always drawn in full.
export const many = 60

// isFar reports whether a graph with this many boxes is viewed from too far away to read it.
export const isFar = (zoom: number, boxes: number): boolean => zoom < 0.5 && boxes > many
