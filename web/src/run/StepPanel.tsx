import {X} from 'lucide-react'
import {useMemo} from 'react'
import {Link} from 'wouter'
import {count, duration, exact, usd} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import {IconButton} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import {Calls} from './Calls.tsx'
import {callsOf} from './calls.ts'
import {Iterations} from './Iterations.tsx'
import {childrenOf, iterationsOf, subagentsOf} from './inside.ts'
import nested from './Nested.module.css'
import {ChildRun, Items, Subagents} from './Nested.tsx'
import type {Place} from './place.ts'
import styles from './StepPanel.module.css'
import type {Definition, Step} from './types.ts'

type Props = {live: LiveRun; step: Step; place: Place; definition: Definition | null}

// StepPanel shows one step: its input, each call with its request and response, its output, and its
// cost.
export function StepPanel({live, step, place, definition}: Props) {
  const calls = useMemo(() => callsOf(live.events, step.seq), [live.events, step.seq])
  const all = useMemo(() => iterationsOf(live.view.steps, step), [live.view.steps, step])
  const subs = useMemo(() => subagentsOf(live.events, step.seq), [live.events, step.seq])
  const children = useMemo(() => childrenOf(live.events).filter(c => c.step === step.seq), [live.events, step.seq])
  const agents = useMemo(() => new Map((definition?.agents ?? []).map(a => [a.id, a])), [definition])
  const system = systemOf(live, step, agents)
  const {usage} = step
  return (
    <section className={styles.panel} aria-label={`Step ${step.seq}`}>
      <header className={styles.head}>
        <div className={styles.title}>
          <h2>
            <Line>{step.name}</Line>
          </h2>
          <Status of={step.status} />
          <span className={styles.right}>
            <IconButton label="Close the step" onClick={() => place.set({step: null})}>
              <X size={14} />
            </IconButton>
          </span>
        </div>
        <p className={styles.facts}>
          {[
            step.kind,
            step.node !== step.name ? step.node : '',
            `step ${step.seq}`,
            step.attempt > 1 ? `attempt ${step.attempt}` : '',
            duration(step.durationMs),
            step.model ?? '',
            usage.inputTokens + usage.outputTokens > 0
              ? `${count(usage.inputTokens)} → ${count(usage.outputTokens)} tok`
              : '',
            calls.some(c => c.kind === 'model') ? usd(usage.costUSD) : '',
          ]
            .filter(Boolean)
            .map(f => (
              <span key={f}>
                <Line>{f}</Line>
              </span>
            ))}
          <span title={exact(step.startedAt)}>at {exact(step.startedAt)}</span>
        </p>
      </header>
      <Iterations all={all} step={step} place={place} />
      {step.map !== undefined && (
        <p className={styles.facts}>
          <button type="button" className={styles.plain} onClick={() => place.set({step: step.map ?? null})}>
            item {(step.item ?? 0) + 1} of its map
          </button>
        </p>
      )}
      {step.error && (
        <div className={styles.error}>
          <strong>{step.error.code}</strong>
          <p>
            <Text>{typeof step.error.message === 'string' ? step.error.message : ''}</Text>
          </p>
          {live.view.workflow.id && live.view.workflow.version !== null && (
            <Link
              href={
                `/workflows/${encodeURIComponent(live.view.workflow.id)}/edit` +
                `?pane=text&node=${encodeURIComponent(step.node)}`
              }
            >
              Its line in the document
            </Link>
          )}
        </div>
      )}
      {(step.warnings ?? []).map(w => (
        <p key={w} className={styles.warning}>
          <Text>{w}</Text>
        </p>
      ))}
      {step.decision && (
        <p>
          Decided: <strong>{step.decision}</strong>
          {step.note && (
            <>
              {' '}
              – <Text>{step.note}</Text>
            </>
          )}
        </p>
      )}
      {step.items && (
        <p className={styles.facts}>
          <span>
            {step.items.done} of {step.items.total} items done
          </span>
          {step.items.running > 0 && <span>{step.items.running} running</span>}
          {step.items.failed > 0 && <span>{step.items.failed} failed</span>}
        </p>
      )}
      {step.items && <Items map={step} steps={live.view.steps} place={place} />}
      {children.length > 0 && (
        <>
          <h3>Child runs</h3>
          <ul className={nested.children}>
            {children.map(c => (
              <ChildRun key={c.run} child={c} />
            ))}
          </ul>
        </>
      )}
      {subs.length > 0 && (
        <>
          <h3>Sub-agents</h3>
          <Subagents subs={subs} names={agents} run={live.view.id} />
        </>
      )}
      <h3>Input</h3>
      <Value of={step.input} run={live.view.id} label="what the step was given" />
      {calls.length > 0 && (
        <>
          <h3>{calls.every(c => c.kind === 'model') ? 'Model calls' : 'Calls'}</h3>
          <Calls
            calls={calls}
            input={step.input}
            system={system}
            run={live.view.id}
            streamed={live.streamed}
            agents={agents}
          />
        </>
      )}
      {step.output !== null && step.output !== undefined && (
        <>
          <h3>Output</h3>
          <Value of={step.output} run={live.view.id} label="what the step gave" />
        </>
      )}
    </section>
  )
}

type Agents = Map<string, {id: string; name?: string; system?: string}>

// systemOf returns the system prompt of a step's agent: the prompt in its event if templates made
// it differ from the definition.
function systemOf(live: LiveRun, step: Step, agents: Agents): string {
  const begun = live.events.find(e => e.type === 'step.started' && e.step === step.seq)
  if (!begun) return ''
  const text = begun.data.system ?? agents.get(String(begun.data.agent ?? ''))?.system
  return typeof text === 'string' ? text : ''
}
