import type {Point} from './document.ts'
import type {FlowInstance} from './Flow.tsx'

// focusPart moves the focus to the next part of the editor: tools, palette, outline, drawing, form.
// If back is set, it moves to the previous part.
export function focusPart(root: HTMLElement | null, back: boolean): void {
  const parts = [...(root?.querySelectorAll<HTMLElement>('[data-part]') ?? [])].flatMap(part => {
    if (part.offsetParent === null) return []
    const inside =
      part.dataset.part === 'drawing'
        ? ['.react-flow__node.selected', '.react-flow__node']
        : [':is(button, select, input, textarea, [tabindex="0"]):not(:disabled)']
    const target =
      inside.flatMap(x => [...part.querySelectorAll<HTMLElement>(x)]).find(x => x.offsetParent !== null) ??
      (part.tabIndex >= 0 ? part : null)
    return target ? [{part, target}] : []
  })
  const at = parts.findIndex(p => p.part.contains(document.activeElement))
  const next = at < 0 ? (back ? parts.length - 1 : 0) : (at + (back ? -1 : 1) + parts.length) % parts.length
  parts[next]?.target.focus()
}

// narrow reports whether parts are stacked: a tap opens a node then, as a double click does
// otherwise.
export const narrow = (): boolean => window.matchMedia('(max-width: 760px)').matches

// Box is the position of an element in the drawing, with its size.
export type Box = Point & {width: number; height: number}

// reveal brings a box into view if it is outside.
export function reveal(f: FlowInstance, root: HTMLElement | null, {x, y, width, height}: Box): void {
  const seen = root?.querySelector('[data-drawing]')?.getBoundingClientRect()
  if (!seen) return
  const a = f.flowToScreenPosition({x, y})
  const b = f.flowToScreenPosition({x: x + width, y: y + height})
  if (a.x < seen.left || a.y < seen.top || b.x > seen.right || b.y > seen.bottom)
    void f.setCenter(x + width / 2, y + height / 2, {zoom: f.getZoom()})
}
