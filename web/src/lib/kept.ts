// kept puts items that were there before in the place of those that are like them: what is drawn of them is not drawn again. Where all are, it gives the list of before.
export function kept<T extends {id: string}>(
  was: readonly T[],
  now: readonly T[],
  alike: (a: T, b: T) => boolean,
): readonly T[] {
  const before = new Map(was.map(x => [x.id, x]))
  const out = now.map(x => {
    const old = before.get(x.id)
    return old && alike(old, x) ? old : x
  })
  return out.length === was.length && out.every((x, i) => x === was[i]) ? was : out
}
