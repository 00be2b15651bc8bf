import {BaseEdge, type Edge, type EdgeProps, getBezierPath, getSmoothStepPath, Position} from '@xyflow/react'
import {around} from './route.ts'

export type FlowEdgeType = Edge<{side: number | null; asks: boolean}, 'link'>

// FlowEdge draws an edge: by steps, beside the nodes that are in its way; a curve to a sub-agent.
export function FlowEdge({sourceX, sourceY, targetX, targetY, data, style, markerEnd, label, interactionWidth}: EdgeProps<FlowEdgeType>) {
  const side = data?.side ?? null
  const shared = {...(style ? {style} : {}), ...(markerEnd ? {markerEnd} : {}), ...(label ? {label} : {}), interactionWidth: interactionWidth ?? 20}
  if (side !== null) {
    const {path, label: at} = around(sourceX, sourceY, targetX, targetY, side)
    return <BaseEdge path={path} labelX={at.x} labelY={at.y} {...shared} />
  }
  const ends = {sourceX, sourceY, targetX, targetY}
  const [path, labelX, labelY] = data?.asks
    ? getBezierPath({...ends, sourcePosition: Position.Right, targetPosition: Position.Left})
    : getSmoothStepPath({...ends, sourcePosition: Position.Bottom, targetPosition: Position.Top, borderRadius: 6})
  return <BaseEdge path={path} labelX={labelX} labelY={labelY} {...shared} />
}
