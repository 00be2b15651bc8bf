import {base} from '../api/base.ts'
import {Dialog} from '../ui/Dialog.tsx'
import styles from './Help.module.css'
import {isMac} from './keys.ts'
import {places} from './places.ts'

const keys: [string, string][] = [
  [isMac ? '⌘ K' : 'Ctrl K', 'Search or go to…'],
  ['/', 'Search in the list or the run'],
  ['n N', 'Next, previous hit in a run'],
  ['j k', 'Next, previous row or step'],
  ['Enter', 'Open the row'],
  ['[ ]', 'Previous, next iteration of a step'],
  [', .', 'Previous, next event of a run'],
  ...places.map((p): [string, string] => [p.keys, `Go to ${p.name.toLowerCase()}`]),
  ['Esc Tab', 'Leave a text editor'],
  ['?', 'This help'],
  ['Esc', 'Close'],
]

export function Help({close}: {close: () => void}) {
  return (
    <Dialog title="Keyboard" close={close}>
      <dl className={styles.keys}>
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(' ').map(k => (
                <kbd key={k}>{k}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        <a href={`${base}/licences.txt`} target="_blank" rel="noreferrer">
          Licences of what the page contains
        </a>
      </p>
    </Dialog>
  )
}
