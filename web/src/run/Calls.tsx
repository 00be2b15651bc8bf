import {duration, usd} from '../lib/format.ts'
import {Line, Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import styles from './Calls.module.css'
import type {Call, Message} from './calls.ts'
import {Request} from './Request.tsx'
import {micros} from './time.ts'

type Props = {
  calls: Call[]
  input: unknown
  system: string
  run: string
  streamed: ReadonlyMap<string, string>
  agents: Map<string, {id: string; name?: string; system?: string}>
}

// Calls shows the calls of a step in sequence: a model call with its request and its reply, a tool
// call with its arguments and result.
export function Calls({calls, input, system, run, streamed, agents}: Props) {
  const firstModel = calls.find(c => c.kind === 'model' && c.frame === 0)
  return (
    <ol className={styles.calls}>
      {calls.map((c, i) => (
        <li key={`${c.call} ${c.attempt} ${i}`}>
          <details open={calls.length <= 4 || i === calls.length - 1} className={styles.call}>
            <summary>
              <span className={styles.kind}>{c.kind}</span>
              <span className={styles.name}>
                <Line>{c.name || c.call}</Line>
              </span>
              <span className={styles.facts}>
                {c.frame > 0 && <Line>{agents.get(c.agent)?.name || c.agent || `frame ${c.frame}`}</Line>}
                {c.attempt > 1 && <span>attempt {c.attempt}</span>}
                {c.usage && (
                  <span>
                    {c.usage.inputTokens ?? 0} → {c.usage.outputTokens ?? 0} tok
                  </span>
                )}
                {c.costUSD !== null && c.costUSD > 0 && <span>{usd(c.costUSD)}</span>}
                <span>{c.endedAt ? duration((micros(c.endedAt) - micros(c.startedAt)) / 1000) : 'out'}</span>
                {c.error && <span className={styles.bad}>{c.error.code}</span>}
              </span>
            </summary>
            <div className={styles.inside}>
              {c === firstModel && system && <Said who="system" text={system} run={run} />}
              {c === firstModel && c.sent.length === 0 && <Said who="user" text={input} run={run} />}
              {c.sent.map((m, j) => (
                <Sent key={j} message={m} run={run} />
              ))}
              {c.kind === 'model' && <Request run={run} call={c.call} attempt={c.attempt} />}
              {c.kind === 'tool' && <Said who="arguments" text={c.arguments} run={run} />}
              {c.reply && <Sent message={c.reply} run={run} as="reply" />}
              {!c.endedAt && c.kind === 'model' && (
                <div className={styles.said} aria-live="off">
                  <span className={styles.role}>reply</span>
                  <div className={styles.live}>
                    <Text>{`${streamed.get(c.call) ?? ''}▌`}</Text>
                  </div>
                </div>
              )}
              {c.result !== undefined && c.result !== null && <Said who="result" text={c.result} run={run} />}
              {c.error && <Said who="error" text={`${c.error.code}: ${c.error.message}`} run={run} />}
              {c.stop && c.stop !== 'stop' && <p className={styles.stop}>Stopped: {c.stop}</p>}
            </div>
          </details>
        </li>
      ))}
    </ol>
  )
}

function Sent({message, run, as}: {message: Message; run: string; as?: string}) {
  return (
    <>
      {message.text !== undefined && message.text !== '' && (
        <Said who={as ?? message.role} text={message.text} run={run} />
      )}
      {(message.toolCalls ?? []).map(t => (
        <Said key={t.id} who={`asks for ${t.name}`} text={t.arguments} run={run} />
      ))}
    </>
  )
}

function Said({who, text, run}: {who: string; text: unknown; run: string}) {
  return (
    <div className={styles.said}>
      <span className={styles.role}>
        <Line>{who}</Line>
      </span>
      <Value of={text} run={run} label={who} />
    </div>
  )
}
