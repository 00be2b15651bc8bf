// This module starts programs for a spec: its own servers, which it can kill and restart, and
// commands on a store.
import {execFile, spawn} from 'node:child_process'
import {createInterface} from 'node:readline'
import {promisify} from 'node:util'

const environment = ({home, token = ''}) => ({
  HOME: home,
  HOCKET_HOME: home,
  HOCKET_TOKEN: token,
  PATH: process.env.PATH,
})

// serve starts a server on the store of the folder home, and returns its address once it accepts
// requests. addr is the listen address; the default is a free port. kill ends the server as a crash
// does, stop shuts it down.
export async function serve({program, home, token, addr = '127.0.0.1:0'}, ...args) {
  const child = spawn(program, ['serve', '--addr', addr, ...args], {
    cwd: home,
    env: environment({home, token}),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  process.on('exit', () => child.kill('SIGKILL'))
  const over = new Promise(done => child.once('exit', done))
  let said = ''
  const origin = await new Promise((found, fail) => {
    createInterface({input: child.stderr}).on('line', line => {
      said += `${line}\n`
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)
      if (url) found(url[0])
    })
    over.then(() => fail(new Error(`the server ended: ${said}`)))
  })
  for (let ready = false; !ready; ) ready = await fetch(`${origin}/readyz`).then(a => a.ok)
  const end = async signal => {
    child.kill(signal)
    await over
  }
  return {origin, kill: () => end('SIGKILL'), stop: () => end('SIGTERM')}
}

// hocket runs a command on the store of the folder home.
export const hocket = async ({program, home, token}, ...args) =>
  (await promisify(execFile)(program, args, {cwd: home, env: environment({home, token})})).stdout
