import {BaseEdge, type Edge, type EdgeProps, getBezierPath, getSmoothStepPath, Position} from '@xyflow/react'
import {around} from './route.ts'

export type FlowEdgeType = Edge<{side: number | null; asks: boolean; across: boolean}, 'link'>

// FlowEdge draws an edge: with right angles around the nodes in between, or as a curve to a
// sub-agent.
export function FlowEdge({
  sourceX,
  sourceY,
  targetX,
  targetY,
  data,
  style,
  markerEnd,
  label,
  interactionWidth,
}: EdgeProps<FlowEdgeType>) {
  const side = data?.side ?? null
  const across = data?.across ?? false
  const shared = {
    ...(style ? {style} : {}),
    ...(markerEnd ? {markerEnd} : {}),
    ...(label ? {label} : {}),
    interactionWidth: interactionWidth ?? 20,
  }
  if (side !== null) {
    const {path, label: at} = around(sourceX, sourceY, targetX, targetY, side, across)
    return <BaseEdge path={path} labelX={at.x} labelY={at.y} {...shared} />
  }
  const ends = {sourceX, sourceY, targetX, targetY}
  const [path, labelX, labelY] = data?.asks
    ? getBezierPath({
        ...ends,
        sourcePosition: across ? Position.Bottom : Position.Right,
        targetPosition: across ? Position.Top : Position.Left,
      })
    : getSmoothStepPath({
        ...ends,
        sourcePosition: across ? Position.Right : Position.Bottom,
        targetPosition: across ? Position.Left : Position.Top,
        borderRadius: 6,
      })
  return <BaseEdge path={path} labelX={labelX} labelY={labelY} {...shared} />
}
