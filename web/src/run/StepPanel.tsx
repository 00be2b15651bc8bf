import {ChevronLeft, ChevronRight, X} from 'lucide-react'
import {useMemo} from 'react'
import {count, duration, exact, usd} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import type {Place} from '../pages/Run.tsx'
import {IconButton} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import {Calls} from './Calls.tsx'
import {type Call, callsOf} from './calls.ts'
import styles from './StepPanel.module.css'
import type {Definition, Step} from './types.ts'
import {titleOf} from './words.ts'

type Props = {live: LiveRun; step: Step; place: Place; definition: Definition | null}

// StepPanel shows one step: what it was given, each call with what was sent and what came back, what it gave, and what it cost.
export function StepPanel({live, step, place, definition}: Props) {
  const calls = useMemo(() => callsOf(live.events, step.seq), [live.events, step.seq])
  const others = live.view.steps.filter(s => s.node === step.node && s.item === step.item)
  const at = others.findIndex(s => s.seq === step.seq)
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
            {others.length > 1 && (
              <span className={styles.iterations}>
                <IconButton label="Previous iteration" disabled={at <= 0} onClick={() => place.set({step: others[at - 1]!.seq})}>
                  <ChevronLeft size={14} />
                </IconButton>
                {at + 1} of {others.length}
                <IconButton label="Next iteration" disabled={at >= others.length - 1} onClick={() => place.set({step: others[at + 1]!.seq})}>
                  <ChevronRight size={14} />
                </IconButton>
              </span>
            )}
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
            usage.inputTokens + usage.outputTokens > 0 ? `${count(usage.inputTokens)} → ${count(usage.outputTokens)} tok` : '',
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
      {step.error && (
        <div className={styles.error}>
          <strong>{step.error.code}</strong>
          <p>
            <Text>{typeof step.error.message === 'string' ? step.error.message : ''}</Text>
          </p>
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
          {step.items.running > 0 && <span>{step.items.running} at work</span>}
          {step.items.failed > 0 && <span>{step.items.failed} failed</span>}
        </p>
      )}
      <h3>Given</h3>
      <Value of={step.input} run={live.view.id} label="what the step was given" />
      {calls.length > 0 && (
        <>
          <h3>{calls.every(c => c.kind === 'model') ? 'Model calls' : 'Calls'}</h3>
          <Calls calls={calls} input={step.input} system={system} run={live.view.id} saying={live.saying} agents={agents} />
        </>
      )}
      {step.output !== null && step.output !== undefined && (
        <>
          <h3>Gave</h3>
          <Value of={step.output} run={live.view.id} label="what the step gave" />
        </>
      )}
      <Subagents live={live} step={step} calls={calls} />
    </section>
  )
}

type Agents = Map<string, {id: string; name?: string; system?: string}>

// systemOf gives the system prompt of a step's agent: that of its event where templates made it differ from the definition's.
function systemOf(live: LiveRun, step: Step, agents: Agents): string {
  const begun = live.events.find(e => e.type === 'step.started' && e.step === step.seq)
  if (!begun) return ''
  const text = begun.data.system ?? agents.get(String(begun.data.agent ?? ''))?.system
  return typeof text === 'string' ? text : ''
}

function Subagents({live, step, calls}: {live: LiveRun; step: Step; calls: Call[]}) {
  const subs = live.events.filter(e => e.step === step.seq && e.type === 'subagent.started')
  if (subs.length === 0) return null
  return (
    <>
      <h3>Sub-agents</h3>
      <ul className={styles.subs}>
        {subs.map(e => {
          const frame = Number(e.data.frame ?? 0)
          const n = calls.filter(c => c.frame === frame && c.kind === 'model').length
          return (
            <li key={frame}>
              <strong>
                <Line>{titleOf({id: String(e.data.agent ?? '')})}</Line>
              </strong>
              <span>
                depth {String(e.data.depth ?? 1)} · {n} model {n === 1 ? 'call' : 'calls'}
              </span>
              <Value of={e.data.input} run={live.view.id} label="what the sub-agent was given" />
            </li>
          )
        })}
      </ul>
    </>
  )
}
