// node browser.mjs CHROMIUM: starts a browser for all specs and prints where it listens; it ends with its standard input.
import {chromium} from 'playwright-core'
import {args} from './lib.mjs'

const server = await chromium.launchServer({executablePath: process.argv[2], args, host: '127.0.0.1'})
console.log(server.wsEndpoint())
process.stdin.resume()
process.stdin.on('end', () => server.close())
