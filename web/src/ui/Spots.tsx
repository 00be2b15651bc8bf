import type {NodeHandle} from '@xyflow/react'

// Spots are the places where edges meet a node and that cannot be grabbed. The library measures the
// elements of each node that it draws: plain elements have no other effect.
export const Spots = ({at}: {at: readonly NodeHandle[]}) =>
  at.map(h => (
    <i
      key={`${h.type} ${h.id ?? ''}`}
      className={h.type}
      data-handleid={h.id ?? undefined}
      data-handlepos={h.position}
      style={{position: 'absolute', left: h.x, top: h.y, width: h.width, height: h.height, visibility: 'hidden'}}
    />
  ))
