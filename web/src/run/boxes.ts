import type {Edge, EdgeMarkerType, Node, NodeHandle, Position} from '@xyflow/react'
import {clean} from '../lib/hostile.ts'
import {wordOf} from '../ui/Status.tsx'
import {type BoxState, type Drawn, type DrawnNode, type Taken, timesOf} from './drawn.ts'
import styles from './GraphTab.module.css'
import type {NodeStatus} from './types.ts'

// BoxData is the content of a box. Everything except the box itself is plain data, so that an
// unchanged box is recognized by comparison.
export type BoxData = {
  box: DrawnNode
  status: NodeStatus
  facts: string
  chosen: boolean
  heat: number | null // the fraction of the maximum
}

export type BoxNode = Node<BoxData>

// Shown holds what a graph shows in addition to the states: the short facts of a box, its fraction
// of the heat, and whether it is the open one.
export type Shown = {
  facts: (b: DrawnNode) => string
  heat: (b: DrawnNode) => number | null
  chosen: (b: DrawnNode) => boolean
}

// endsOf returns the positions where edges start and end. They are computed, so that edges are
// drawn with the boxes and not after measuring them.
export const endsOf = (width: number, height: number): NodeHandle[] => [
  {type: 'target', position: 'top' as Position, x: width / 2, y: 0, width: 0, height: 0},
  {type: 'source', position: 'bottom' as Position, x: width / 2, y: height, width: 0, height: 0},
]

// boxesOf returns the boxes of a graph in the form of the library.
export function boxesOf(drawn: Drawn, states: ReadonlyMap<string, BoxState>, shown: Shown): BoxNode[] {
  return drawn.nodes.map(b => {
    const status = states.get(b.id)?.status ?? 'pending'
    const isFrame = b.kind === 'frame'
    const isPlain = isFrame || b.hidden
    const size = {width: Math.round(b.width), height: Math.round(b.height)} // browsers measure whole pixels
    return {
      id: b.id,
      type: isFrame ? 'frame' : b.hidden ? 'point' : 'step',
      position: {x: b.x, y: b.y},
      ...size,
      measured: size,
      handles: endsOf(size.width, size.height),
      zIndex: isFrame ? -1 : 0,
      focusable: !isPlain,
      selectable: !isFrame,
      // An element without focus has no role, and so no name.
      ...(isPlain ? {} : {ariaLabel: clean(`${b.title}, ${b.word}, ${wordOf(status)}`)}),
      data: {box: b, status, facts: shown.facts(b), chosen: !isFrame && shown.chosen(b), heat: shown.heat(b)},
    }
  })
}

// sameBox reports whether two boxes are drawn alike.
export const sameBox = (a: BoxNode, b: BoxNode): boolean =>
  a.data.box === b.data.box &&
  a.data.status === b.data.status &&
  a.data.facts === b.data.facts &&
  a.data.chosen === b.data.chosen &&
  a.data.heat === b.data.heat

export type RouteData = {path: string; label: string; x: number; y: number}

export type RouteEdge = Edge<RouteData>

// routesOf returns the edges of a graph in the form of the library.
export function routesOf(drawn: Drawn, states: Map<string, BoxState>, taken: Taken): RouteEdge[] {
  const byID = new Map(drawn.nodes.map(n => [n.id, n]))
  return drawn.edges.map(e => {
    const times = timesOf(e, byID, states, taken)
    const label = [clean(e.label), times > 1 ? `×${times}` : ''].filter(Boolean).join(' ')
    const isSub = e.kind === 'subagent' || e.kind === 'handoff'
    const colour = times > 0 && !isSub ? 'var(--accent)' : 'var(--edge)'
    return {
      id: e.id,
      source: e.from,
      target: e.to,
      type: e.path ? 'route' : e.back ? 'default' : 'smoothstep',
      ...(label ? {label} : {}),
      data: {path: e.path, label, x: e.labelX, y: e.labelY},
      markerEnd: {type: 'arrowclosed', width: 14, height: 14, color: colour} as EdgeMarkerType,
      className: isSub
        ? styles.sub
        : times > 0
          ? styles.taken
          : e.fails
            ? styles.fails
            : e.back
              ? styles.back
              : styles.edge,
      focusable: false,
    } as RouteEdge
  })
}

const colourOf = (e: RouteEdge): string => (typeof e.markerEnd === 'object' ? String(e.markerEnd.color) : '')

// sameRoute reports whether two edges are drawn alike.
export const sameRoute = (a: RouteEdge, b: RouteEdge): boolean =>
  a.data!.path === b.data!.path &&
  a.data!.label === b.data!.label &&
  a.data!.x === b.data!.x &&
  a.data!.y === b.data!.y &&
  a.className === b.className &&
  colourOf(a) === colourOf(b) &&
  a.source === b.source &&
  a.target === b.target &&
  a.type === b.type
