import {ChevronLeft, ChevronRight} from 'lucide-react'
import {count, duration, usd} from '../lib/format.ts'
import {Compare} from '../ui/Compare.tsx'
import {Button, IconButton} from '../ui/parts.tsx'
import {wordOf} from '../ui/Status.tsx'
import styles from './Iterations.module.css'
import type {Place} from './place.ts'
import type {Step} from './types.ts'

// around is the number of iterations that the strip shows on each side of the open one.
const around = 6

// Iterations shows the executions of a step's node in one strip; any two of them can be compared.
export function Iterations({all, step, place}: {all: Step[]; step: Step; place: Place}) {
  if (all.length < 2) return null
  const at = all.findIndex(s => s.seq === step.seq)
  const from = Math.max(0, Math.min(at - around, all.length - 2 * around - 1))
  const other = all.find(s => s.iteration === place.iter && s.seq !== step.seq)
  const neighbour = all[at > 0 ? at - 1 : at + 1]!
  return (
    <section className={styles.iterations} aria-label="Iterations">
      <div className={styles.strip}>
        <IconButton label="Previous iteration" disabled={at <= 0} onClick={() => place.set({step: all[at - 1]!.seq})}>
          <ChevronLeft size={14} />
        </IconButton>
        {all.slice(from, from + 2 * around + 1).map((s, i) => (
          <button
            key={s.seq}
            type="button"
            className={`${styles.one} ${styles[s.status] ?? ''}`}
            aria-current={s.seq === step.seq ? 'step' : undefined}
            aria-label={`Iteration ${from + i + 1}, ${wordOf(s.status)}`}
            onClick={() => place.set({step: s.seq})}
          >
            {from + i + 1}
          </button>
        ))}
        <IconButton
          label="Next iteration"
          disabled={at >= all.length - 1}
          onClick={() => place.set({step: all[at + 1]!.seq})}
        >
          <ChevronRight size={14} />
        </IconButton>
        <span className={styles.of}>
          {at + 1} of {all.length}
        </span>
        <Button
          aria-pressed={other !== undefined}
          onClick={() => place.set({iter: other ? null : neighbour.iteration})}
        >
          {other ? 'End the comparison' : `Compare with ${all.indexOf(neighbour) + 1}`}
        </Button>
      </div>
      {other && (
        <Pair left={other} right={step} names={[`Iteration ${all.indexOf(other) + 1}`, `Iteration ${at + 1}`]} />
      )}
    </section>
  )
}

// Pair shows two steps side by side: their inputs, outputs, durations and costs.
export function Pair({left, right, names}: {left: Step; right: Step; names: [string, string]}) {
  return (
    <div className={styles.pair}>
      <table className={styles.facts}>
        <thead>
          <tr>
            <th scope="col">
              <span className="hidden">Measure</span>
            </th>
            <th scope="col">{names[0]}</th>
            <th scope="col">{names[1]}</th>
          </tr>
        </thead>
        <tbody>
          {measures.map(([name, of]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{of(left)}</td>
              <td>{of(right)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Given</h3>
      <Compare left={left.input} right={right.input} names={names} label="What was given" />
      <h3>Gave</h3>
      <Compare left={gave(left)} right={gave(right)} names={names} label="What came back" />
    </div>
  )
}

const gave = (s: Step): unknown =>
  s.error ? `${s.error.code}: ${typeof s.error.message === 'string' ? s.error.message : ''}` : s.output

const measures: [string, (s: Step) => string][] = [
  ['State', s => wordOf(s.status)],
  ['Time', s => duration(s.durationMs)],
  ['Tokens', s => count(s.usage.inputTokens + s.usage.outputTokens)],
  ['Money', s => usd(s.usage.costUSD)],
]
