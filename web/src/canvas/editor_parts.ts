import type {Point} from './document.ts'
import type {FlowInstance} from './Flow.tsx'
import {nodeHeight, nodeWidth} from './places.ts'

// focusPart puts the focus into the next part of the editor: tools, palette, outline, drawing, form. back: into the one before.
export function focusPart(root: HTMLElement | null, back: boolean): void {
  const parts = [...(root?.querySelectorAll<HTMLElement>('[data-part]') ?? [])].flatMap(part => {
    if (part.offsetParent === null) return []
    const inside =
      part.dataset.part === 'drawing'
        ? ['.react-flow__node.selected', '.react-flow__node']
        : [':is(button, select, input, textarea, [tabindex="0"]):not(:disabled)']
    const target = inside.flatMap(x => [...part.querySelectorAll<HTMLElement>(x)]).find(x => x.offsetParent !== null) ?? (part.tabIndex >= 0 ? part : null)
    return target ? [{part, target}] : []
  })
  const at = parts.findIndex(p => p.part.contains(document.activeElement))
  const next = at < 0 ? (back ? parts.length - 1 : 0) : (at + (back ? -1 : 1) + parts.length) % parts.length
  parts[next]?.target.focus()
}

// narrow tells that parts are shown above each other: a tap opens a node there, as a double click does elsewhere.
export const narrow = (): boolean => window.matchMedia('(max-width: 760px)').matches

// reveal brings a place into view that is not.
export function reveal(f: FlowInstance, root: HTMLElement | null, p: Point): void {
  const box = root?.querySelector('[data-drawing]')?.getBoundingClientRect()
  const a = f.flowToScreenPosition(p)
  const b = f.flowToScreenPosition({x: p.x + nodeWidth, y: p.y + nodeHeight})
  if (box && (a.x < box.left || a.y < box.top || b.x > box.right || b.y > box.bottom))
    void f.setCenter(p.x + nodeWidth / 2, p.y + nodeHeight / 2, {zoom: f.getZoom()})
}
