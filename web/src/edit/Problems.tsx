import {plural} from '../lib/format.ts'
import {Button} from '../ui/parts.tsx'
import {Text} from '../ui/Text.tsx'
import type {Checking, Problem} from './check.ts'
import styles from './Problems.module.css'

export const countOf = (problems: Problem[]): string => {
  const errors = problems.filter(p => p.severity === 'error').length
  const rest = problems.length - errors
  return (
    [errors > 0 ? plural(errors, 'error') : '', rest > 0 ? plural(rest, 'warning') : ''].filter(Boolean).join(', ') ||
    'no problems'
  )
}

// Problems lists the problems of a document. Each links to its position in the text.
export function Problems({checking, again, go}: {checking: Checking; again: () => void; go: (p: Problem) => void}) {
  const {check, error, busy} = checking
  const problems = check?.problems ?? []
  return (
    <section className={styles.problems} aria-label="Problems">
      <p className={styles.head} role="status">
        {error
          ? `The document cannot be checked: ${error instanceof Error ? error.message : 'the server does not answer'}`
          : check
            ? countOf(problems)
            : 'Checking…'}
        {busy && check && <span className={styles.busy}> · checking</span>}
      </p>
      {error !== null && (
        <p className={styles.again}>
          <Button onClick={again}>Check again</Button>
        </p>
      )}
      {problems.length > 0 && (
        <ul>
          {problems.map((p, i) => (
            <li key={i} data-severity={p.severity}>
              <button type="button" onClick={() => go(p)} disabled={!p.at}>
                <span className={styles.line}>{p.at ? `line ${p.at.line}` : p.severity}</span>
                <span className={styles.message}>
                  <Text>{p.message}</Text> <code>{p.code}</code>
                  {p.hint && (
                    <small>
                      <Text>{p.hint}</Text>
                    </small>
                  )}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
