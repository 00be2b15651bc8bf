import type {Schemas} from '../api/client.ts'

// RunEvent is an event of the stream with expand=true: inputs, outputs and arguments that the
// journal leaves out are filled in.
export type RunEvent = {
  run: string
  seq: number
  time: string
  type: string
  node: string | null
  step: number | null
  data: Record<string, unknown>
}

export type Failure = {code: string; message: string; node?: string; limit?: string; max?: number}

// Definition is the graph of a run, including keys that the page does not read.
export type Definition = {
  id?: string
  name?: string
  format?: string
  entry: string
  nodes: DefNode[]
  edges: DefEdge[]
  agents?: DefAgent[]
  flows?: Record<string, Definition>
}

export type DefNode = {
  id: string
  name?: string
  kind: string
  parent?: string
  hidden?: boolean
  agent?: {agent?: string}
  tool?: {tool?: string; workflow?: string}
  func?: {func?: string}
  wait?: {kind?: string; prompt?: string}
  fork?: {join: string; branches: {id: string}[]; until?: string; quorum?: number}
  join?: {fork?: string}
  map?: {entry: string; as?: string}
  subflow?: {flow: string}
  sleep?: {for?: string}
  if?: unknown
  catch?: unknown
  retry?: {maxRetries?: number}
}

export type DefEdge = {
  id?: string
  from: string
  port?: string
  to: string
  when?: unknown
  loop?: boolean
  label?: string
}

export type DefAgent = {
  id: string
  name?: string
  description?: string
  model?: string
  system?: string
  tools?: unknown[]
  subagents?: unknown[]
}

export type Step = Schemas['Step']
export type Waiting = Schemas['Waiting']
export type Answer = Schemas['Answer']
export type Items = Schemas['Items']
export type RunError = Schemas['Error']
export type Usage = {inputTokens: number; outputTokens: number; costUSD: number | null}

export type NodeStatus = 'pending' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled' | 'skipped'
export type NodeState = {node: string; status: NodeStatus; runs: number; reason?: string}
export type RunStatus = 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled'

// RunView is the data of a run that the page shows. It has the fields of the API's run object, and
// the states of nodes and edges.
export type RunView = {
  id: string
  workflow: {
    id: string | null
    name: string | null
    format: string | null
    version: number | null
    branch: string | null
  }
  status: RunStatus
  input: unknown
  output: unknown
  outputs: Record<string, unknown>
  error: RunError | null
  waiting: Waiting[]
  answers: Answer[]
  steps: Step[]
  usage: Usage & {modelCalls: number; toolCalls: number}
  startedAt: string | null
  endedAt: string | null
  parentRun: string | null
  forkedFrom: string | null
  retry: boolean
  nodes: NodeState[]
  // taken counts, by index, how often an edge of the workflow itself was taken.
  taken: Record<number, number>
  // takenIn has the same counts for edges of flows, by the path of the steps that run them, which
  // ends with a slash.
  takenIn: Record<string, Record<number, number>>
  trigger: string
  test: boolean // a test run of the editor
  seq: number
  // unknown are the events of types that this page does not know; they are shown raw.
  unknown: RunEvent[]
}
