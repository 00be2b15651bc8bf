import {whyNot} from '../canvas/runnable.ts'
import {type Testing, TestRun} from '../canvas/TestRun.tsx'
import {Button} from '../ui/parts.tsx'
import {Text} from '../ui/Text.tsx'
import type {Checking, Problem} from './check.ts'
import type {DrawnNode} from './drawing.ts'
import styles from './Editor.module.css'

type Props = {id: string; text: string; testing: Testing; checking: Checking; mayRun: boolean; go: (p: Problem) => void}

// TextTest starts test runs of a text.
export function TextTest({id, text, testing, checking, mayRun, go}: Props) {
  const {check} = checking
  const problems = check?.problems ?? []
  const why = whyNot({
    role: mayRun,
    checked: check?.text === text,
    failed: checking.error !== null,
    problems,
    running: testing.running,
  })
  const first = problems.find(p => p.severity === 'error' && p.at)
  return (
    <TestRun
      testing={testing}
      text={text}
      format={check?.format ?? ''}
      name={id}
      initial=""
      inputs={check?.inputs}
      why={why}
      showProblem={first ? () => go(first) : null}
    />
  )
}

// Failure shows why the drawn run failed, and links to the line of its step.
export function Failure({
  testing,
  nodes,
  go,
}: {
  testing: Testing
  nodes: readonly DrawnNode[]
  go: (n: DrawnNode) => void
}) {
  const view = testing.live?.view
  if (view?.status !== 'failed' || !view.error) return null
  const failed = view.error.node ?? view.steps.findLast(s => s.status === 'failed')?.node
  const node = nodes.find(n => n.node === failed && n.span)
  return (
    <div className={styles.failure} role="group" aria-label="Why the run failed">
      <p>
        <strong>{failed ?? 'The run'}</strong> failed:{' '}
        <Text>{typeof view.error.message === 'string' ? view.error.message : view.error.code}</Text>
      </p>
      {node && <Button onClick={() => go(node)}>Show its line</Button>}
    </div>
  )
}
