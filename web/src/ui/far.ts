// many is how many boxes a graph has at most that are always drawn whole.
export const many = 60

// isFar tells that a graph of so many boxes is seen from too far away to read it.
export const isFar = (zoom: number, boxes: number): boolean => zoom < 0.5 && boxes > many
