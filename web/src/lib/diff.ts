// Part is a part of two texts: it is in both, only in the first, or only in the second.
export type Part = {is: 'same' | 'left' | 'right'; text: string}

// most limits the work: beyond it, differing parts are shown as a whole, one text after the other.
const most = 2000

const lines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
const words = (text: string): string[] => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []

// diff compares two texts by lines, and changed lines by words.
export function diff(a: string, b: string): Part[] {
  if (a === b) return a ? [{is: 'same', text: a}] : []
  const out: Part[] = []
  const rough = compare(lines(a), lines(b))
  for (let i = 0; i < rough.length; i++) {
    const [p, next] = [rough[i]!, rough[i + 1]]
    if (p.is === 'left' && next?.is === 'right') {
      out.push(...compare(words(p.text), words(next.text)))
      i++
    } else out.push(p)
  }
  return joined(out)
}

// compare is the algorithm of Myers (https://doi.org/10.1007/BF01840446), with a limit on the edit
// distance.
function compare(a: string[], b: string[]): Part[] {
  let from = 0
  while (from < a.length && from < b.length && a[from] === b[from]) from++
  let tail = 0
  while (tail < a.length - from && tail < b.length - from && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const middle = shortest(a.slice(from, a.length - tail), b.slice(from, b.length - tail))
  return joined([
    {is: 'same', text: a.slice(0, from).join('')},
    ...middle,
    {is: 'same', text: a.slice(a.length - tail).join('')},
  ])
}

function shortest(a: string[], b: string[]): Part[] {
  const whole: Part[] = [
    {is: 'left', text: a.join('')},
    {is: 'right', text: b.join('')},
  ]
  if (a.length === 0 || b.length === 0) return whole
  const limit = Math.min(a.length + b.length, most)
  const trace: Map<number, number>[] = []
  let ends = new Map<number, number>([[1, 0]])
  for (let d = 0; d <= limit; d++) {
    trace.push(new Map(ends))
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1))
      let x = down ? (ends.get(k + 1) ?? 0) : (ends.get(k - 1) ?? 0) + 1
      let y = x - k
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++
        y++
      }
      ends.set(k, x)
      if (x >= a.length && y >= b.length) return walk(a, b, trace, d)
    }
    if (d * d > most * 200) break // the traces would take too much memory
    ends = new Map(ends)
  }
  return whole
}

function walk(a: string[], b: string[], trace: Map<number, number>[], steps: number): Part[] {
  const out: Part[] = []
  let [x, y] = [a.length, b.length]
  for (let d = steps; d >= 0; d--) {
    const ends = trace[d]!
    const k = x - y
    const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1))
    const before = down ? k + 1 : k - 1
    const px = d === 0 ? 0 : (ends.get(before) ?? 0)
    const py = d === 0 ? 0 : px - before
    while (x > px && y > py && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
      out.push({is: 'same', text: a[--x]!})
      y--
    }
    if (d === 0) break
    if (down) out.push({is: 'right', text: b[--y]!})
    else out.push({is: 'left', text: a[--x]!})
  }
  return joined(out.reverse())
}

// joined merges adjacent parts of the same kind, and puts removed parts before added ones.
function joined(parts: Part[]): Part[] {
  const out: Part[] = []
  let [left, right] = ['', '']
  const flush = () => {
    if (left) out.push({is: 'left', text: left})
    if (right) out.push({is: 'right', text: right})
    left = ''
    right = ''
  }
  for (const p of parts) {
    if (p.text === '') continue
    if (p.is === 'left') left += p.text
    else if (p.is === 'right') right += p.text
    else {
      flush()
      const last = out.at(-1)
      if (last?.is === 'same') last.text += p.text
      else out.push({...p})
    }
  }
  flush()
  return out
}
