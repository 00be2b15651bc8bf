import type {Point} from './document.ts'
import type {FlowInstance} from './Flow.tsx'

// focusPart puts the focus into the next part of the editor: tools, palette, outline, drawing, form. back: into the one before.
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

// narrow tells that parts are shown above each other: a tap opens a node there, as a double click does elsewhere.
export const narrow = (): boolean => window.matchMedia('(max-width: 760px)').matches

// Box is the place of something in the drawing, with its size.
export type Box = Point & {width: number; height: number}

// reveal brings a box into view that is not.
export function reveal(f: FlowInstance, root: HTMLElement | null, {x, y, width, height}: Box): void {
  const seen = root?.querySelector('[data-drawing]')?.getBoundingClientRect()
  if (!seen) return
  const a = f.flowToScreenPosition({x, y})
  const b = f.flowToScreenPosition({x: x + width, y: y + height})
  if (a.x < seen.left || a.y < seen.top || b.x > seen.right || b.y > seen.bottom)
    void f.setCenter(x + width / 2, y + height / 2, {zoom: f.getZoom()})
}
