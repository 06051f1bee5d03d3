(function(){function e(){return window.isSecureContext&&navigator.mediaDevices!==void 0}async function t(t,i,a){if(!e())throw new DOMException(`No microphone without https.`,`SecurityError`);let s=new AudioContext({latencyHint:`interactive`}),c=s.resume(),l;try{return l=await n(i),await Promise.all([c,s.audioWorklet.addModule(t.microphone),s.audioWorklet.addModule(t.speaker)]),r(s,l,a)}catch(e){throw o(l),s.close(),e}}async function n(e){let t=await navigator.mediaDevices.getUserMedia({audio:{deviceId:e?{exact:e}:void 0,channelCount:1,echoCancellation:!0,noiseSuppression:!0,autoGainControl:!0}});if(t.getAudioTracks().length===0)throw new DOMException(`The stream has no microphone.`,`NotFoundError`);return t}function r(e,t,r){let s=new AudioWorkletNode(e,`microphone`,{numberOfOutputs:0});s.port.onmessage=e=>r.frame(e.data);let c=new AudioWorkletNode(e,`speaker`,{numberOfInputs:1,outputChannelCount:[1]});c.port.onmessage=e=>r.speaker(e.data),c.connect(e.destination);let l=i(e,t,s,r.lost);navigator.mediaDevices.addEventListener(`devicechange`,r.devicesChanged);let u=!0;return{microphone:()=>l.track,replaceMicrophone:async()=>{let t=await n();if(!u)return o(t);l.stop(),l=i(e,t,s,r.lost)},attach:t=>a(e,t,c),play:e=>c.port.postMessage(e,e.type===`audio`?[e.pcm]:[]),close:()=>{u=!1,navigator.mediaDevices.removeEventListener(`devicechange`,r.devicesChanged),s.port.onmessage=null,c.port.onmessage=null,l.stop(),e.state!==`closed`&&e.close()}}}function i(e,t,n,r){let[i]=t.getAudioTracks(),a=e.createMediaStreamSource(t);return a.connect(n),i.onended=r,{track:i,stop:()=>{a.disconnect(),o(t)}}}function a(e,t,n){let r=new Audio;r.muted=!0,r.srcObject=t,r.play().catch(()=>void 0);let i=e.createMediaStreamSource(t);return i.connect(n),()=>{i.disconnect(),r.srcObject=null}}function o(e){for(let t of e?.getTracks()??[])t.onended=null,t.stop()}function s(e){switch(e instanceof DOMException?e.name:``){case`NotFoundError`:case`OverconstrainedError`:return{kind:`no_device`};case`NotReadableError`:case`AbortError`:return{kind:`device_busy`};case`SecurityError`:return{kind:`insecure`};default:return{kind:`denied`}}}function c(e){let t;try{let n=JSON.parse(e);if(typeof n!=`object`||!n)return null;t=n}catch{return null}switch(t.type){case`start`:return{type:`start`,rtc:t.rtc===!0};case`rtc_answer`:return typeof t.sdp==`string`?{type:`rtc_answer`,sdp:t.sdp}:null;case`rtc_unavailable`:return{type:`rtc_unavailable`};case`transport`:return t.transport===`udp`||t.transport===`websocket`?{type:`transport`,transport:t.transport}:null;case`state`:return{type:`state`,state:String(t.state??`listening`),resume:typeof t.resume==`string`?t.resume:null};case`transcript`:return l(t);case`latency`:return{type:`latency`,latency:u(t)};case`clear`:return{type:`clear`};case`mark`:return{type:`mark`,name:String(t.name??``)};case`end`:return{type:`end`,reason:String(t.end_reason??t.error_code??``)};default:return null}}function l(e){return e.role!==`caller`&&e.role!==`agent`?null:{type:`transcript`,role:e.role,text:String(e.text??``),final:e.final===!0}}function u(e){let t=e=>typeof e==`number`?e:null,[n,r,i,a,o]=[`end_of_speech_ms`,`end_of_turn_ms`,`first_token_ms`,`first_audio_ms`,`heard_ms`].map(n=>t(e[n])),s=(e,t)=>e==null||t==null?null:Math.max(0,t-e);return{totalMs:t(e.latency_ms)??s(n,o)??0,turnMs:s(n,r),modelMs:s(r,i),voiceMs:s(i??r,a),playMs:s(a,o)}}var d=class e{connection;microphone;sender;detach=null;constructor(e,t){this.connection=new RTCPeerConnection,this.microphone=e.microphone().clone(),this.microphone.enabled=!1,this.sender=this.connection.addTrack(this.microphone,new MediaStream([this.microphone])),this.connection.ontrack=({track:t})=>{this.detach?.(),this.detach=e.attach(new MediaStream([t]))},this.connection.onconnectionstatechange=()=>{[`failed`,`disconnected`,`closed`].includes(this.connection.connectionState)&&t.failed()}}static open(t,n){if(typeof RTCPeerConnection>`u`)return null;let r=new e(t,n);return(async()=>{await r.connection.setLocalDescription();let e=r.connection.localDescription?.sdp;e&&n.offer(e)})().catch(n.failed),r}answered(e,t){this.connection.setRemoteDescription({type:`answer`,sdp:e}).catch(t)}speak(e){this.microphone.enabled=e}replaceMicrophone(e){let t=e.clone();t.enabled=this.microphone.enabled,this.microphone.stop(),this.microphone=t,this.sender.replaceTrack(t).catch(()=>void 0)}close(){this.connection.ontrack=null,this.connection.onconnectionstatechange=null,this.connection.close(),this.microphone.stop(),this.detach?.(),this.detach=null}},f=400,p=[1e3,1008],m={phase:`idle`,since:0,startedAt:null,endedAt:null,endReason:null,refusal:null,call:null,resume:null,muted:!1,microphone:`works`,microphoneRuns:!1,serviceAnswers:!1,transport:`websocket`,rtcTried:!1,agent:`listening`,lines:[],latencies:[],pendingLatencyMs:null};function h(e){return[`asking`,`connecting`,`live`,`reconnecting`].includes(e.phase)}function g(e,t,n){switch(t.type){case`talk`:return h(e)?_(e):{state:{...m,phase:`asking`,since:n},effects:[{type:`open_microphone`}]};case`microphone_opened`:return e.phase===`asking`?{state:{...e,phase:`connecting`,since:n},effects:[{type:`place_call`}]}:{state:e,effects:[{type:`release`}]};case`microphone_failed`:case`call_refused`:return h(e)?y(e,t.refusal,n):_(e);case`microphone_frame`:return e.microphoneRuns?_(e):x(e,{microphoneRuns:!0},n);case`microphone_lost`:return h(e)?b(e):_(e);case`find_microphone`:return h(e)&&e.microphone===`missing`?b(e):_(e);case`microphone_replaced`:return _({...e,microphone:`works`});case`microphone_missing`:return _({...e,microphone:`missing`});case`call_placed`:return S(e,t.call);case`socket_opened`:return C(e);case`socket_closed`:return w(e,t.code,n);case`message`:return h(e)?k(e,t.message,n):_(e);case`mark_played`:return v(e,{type:`mark`,name:t.name});case`rtc_offered`:return h(e)?v(e,{type:`rtc_offer`,sdp:t.sdp}):_(e);case`rtc_failed`:return ee(e);case`mute`:return _({...e,muted:t.muted});case`digit`:return e.phase===`live`?v(e,{type:`dtmf`,digit:t.digit}):_(e);case`end`:return E(e,n);case`tick`:return D(e,n)}}function _(e){return{state:e,effects:[]}}function v(e,t){return{state:e,effects:[{type:`send`,message:t}]}}function y(e,t,n){return{state:{...e,phase:`refused`,since:n,refusal:t},effects:[{type:`release`}]}}function b(e){return{state:{...e,microphone:`lost`},effects:[{type:`replace_microphone`}]}}function x(e,t,n){let r={...e,...t};return!(r.microphoneRuns&&r.serviceAnswers)||r.phase!==`connecting`&&r.phase!==`reconnecting`?_(r):_({...r,phase:`live`,since:n,startedAt:r.startedAt??n})}function S(e,t){return e.phase===`connecting`?{state:{...e,call:t},effects:[{type:`open_socket`,url:t.url,delayMs:0}]}:{state:e,effects:t.id===null?[]:[{type:`hang_up_call`,id:t.id}]}}function C(e){return h(e)?e.phase===`reconnecting`&&e.resume!==null?v(e,{type:`resume`,token:e.resume}):v(e,{type:`start`,sample_rate:16e3}):{state:e,effects:[{type:`release`}]}}function w(e,t,n){let r=p.includes(t);return e.phase===`connecting`?y(e,{kind:r?`expired`:`timeout`},n):e.phase===`live`&&!r&&e.call?{state:{...e,phase:`reconnecting`,since:n,serviceAnswers:!1},effects:[{type:`clear_audio`},{type:`open_socket`,url:e.call.url,delayMs:0}]}:e.phase===`reconnecting`&&!r&&e.call?{state:e,effects:[{type:`open_socket`,url:e.call.url,delayMs:f}]}:h(e)?T(e,t===1e3?``:`lost`,n):_(e)}function T(e,t,n){let r=e.lines.map(e=>({...e,final:!0}));return{state:{...e,phase:`ended`,since:n,endedAt:n,endReason:t,lines:r},effects:[{type:`release`}]}}function E(e,t){switch(e.phase){case`asking`:return{state:{...m,since:t},effects:[{type:`release`}]};case`connecting`:{let n=e.call?.id?[{type:`hang_up_call`,id:e.call.id}]:[];return{state:{...m,since:t},effects:[...n,{type:`release`}]}}case`live`:case`reconnecting`:{let{state:n,effects:r}=T(e,`caller_hangup`,t);return{state:n,effects:[{type:`send`,message:{type:`hangup`}},...r]}}default:return _(e)}}function D(e,t){if(e.phase===`connecting`&&t-e.since>=8e3){let{state:n,effects:r}=y(e,{kind:`timeout`},t);return{state:n,effects:[...e.call?.id?[{type:`hang_up_call`,id:e.call.id}]:[],...r]}}return e.phase===`reconnecting`&&t-e.since>=5e3?T(e,`lost`,t):_(e)}function ee(e){let t=e.transport===`udp`?[{type:`send`,message:{type:`transport`,transport:`websocket`}}]:[];return{state:{...e,transport:`websocket`},effects:[...t,{type:`close_rtc`}]}}function O(e,t){return t===`websocket`?{state:{...e,transport:t},effects:[{type:`close_rtc`}]}:{state:{...e,transport:t},effects:[{type:`send`,message:{type:`transport`,transport:t}}]}}function k(e,t,n){switch(t.type){case`start`:return!t.rtc||e.rtcTried?_(e):{state:{...e,rtcTried:!0},effects:[{type:`open_rtc`}]};case`rtc_answer`:return{state:e,effects:[{type:`answer_rtc`,sdp:t.sdp}]};case`rtc_unavailable`:return{state:e,effects:[{type:`close_rtc`}]};case`transport`:return O(e,t.transport);case`state`:return x(e,{serviceAnswers:!0,agent:t.state,resume:t.resume??e.resume},n);case`transcript`:{let n={...e,lines:A(e.lines,t)};return _(t.role===`agent`?M(n):n)}case`latency`:{let{latency:n}=t,r={...e,latencies:[...e.latencies,n],pendingLatencyMs:n.totalMs};return _(e.lines.some(({role:e,final:t})=>e===`agent`&&!t)?M(r):r)}case`clear`:return{state:e,effects:[{type:`clear_audio`}]};case`mark`:return{state:e,effects:[{type:`queue_mark`,name:t.name}]};case`end`:return T(e,t.reason,n)}}function A(e,{role:t,text:n,final:r}){let i=e.findLast(e=>e.role===t&&!e.final);if(!i){let i=(e.at(-1)?.id??0)+1;return[...e,{id:i,role:t,text:n,unheard:``,final:r,latencyMs:null}]}let a=r&&t===`agent`?j(i.text,n):``;return e.map(e=>e===i?{...e,text:n,unheard:a,final:r}:e)}function j(e,t){return e.length>t.length&&e.startsWith(t)?e.slice(t.length):``}function M(e){let{lines:t,pendingLatencyMs:n}=e,r=t.findLast(({role:e})=>e===`agent`);return n===null||!r?e:{...e,pendingLatencyMs:null,lines:t.map(e=>e===r?{...e,latencyMs:n}:e)}}var N=250,P=48e3,F=4e3,I=class{options;state=m;levels={microphone:0,speaker:0};deviceId;audio=null;socket=null;rtc=null;timer;retry;listeners=new Set;constructor(e){this.options=e}configure(e){this.options=e}subscribe=e=>(this.listeners.add(e),()=>this.listeners.delete(e));dispatch=e=>{let{state:t,effects:n}=g(this.state,e,Date.now()),r=t!==this.state;this.state=t;for(let e of n)this.carryOut(e);if(this.rtc?.speak(t.transport===`udp`&&!t.muted),this.keepTime(),r)for(let e of this.listeners)e()};pressMicrophone(){let{microphone:e,muted:t}=this.state;this.dispatch(e===`works`?{type:`mute`,muted:!t}:{type:`find_microphone`})}dispose(){this.dispatch({type:`end`}),this.release(),clearInterval(this.timer),this.timer=void 0}carryOut(e){switch(e.type){case`open_microphone`:this.openMicrophone();break;case`replace_microphone`:this.replaceMicrophone();break;case`place_call`:this.placeCall();break;case`open_socket`:clearTimeout(this.retry),this.retry=setTimeout(()=>this.openSocket(e.url),e.delayMs);break;case`send`:this.socket?.readyState===WebSocket.OPEN&&this.socket.send(JSON.stringify(e.message));break;case`queue_mark`:this.queueMark(e.name);break;case`clear_audio`:this.audio?.play({type:`clear`});break;case`open_rtc`:this.openRtc();break;case`answer_rtc`:this.rtc?.answered(e.sdp,()=>this.dispatch({type:`rtc_failed`}));break;case`close_rtc`:this.closeRtc();break;case`release`:this.release();break;case`hang_up_call`:this.options.hangUp(e.id)}}async openMicrophone(){try{let e=await t(this.options.worklets,this.deviceId,{frame:e=>this.microphoneFrame(e.pcm,e.loudness),speaker:e=>{e.type===`loudness`?this.levels.speaker=e.loudness:this.dispatch({type:`mark_played`,name:e.name})},lost:()=>this.dispatch({type:`microphone_lost`}),devicesChanged:()=>this.dispatch({type:`find_microphone`})});this.audio?.close(),this.audio=e,this.dispatch({type:`microphone_opened`})}catch(e){this.dispatch({type:`microphone_failed`,refusal:s(e)})}}async replaceMicrophone(){let{audio:e}=this;if(e)try{if(await e.replaceMicrophone(),this.audio!==e)return;this.rtc?.replaceMicrophone(e.microphone()),this.dispatch({type:`microphone_replaced`})}catch{this.audio===e&&this.dispatch({type:`microphone_missing`})}}microphoneFrame(e,t){this.levels.microphone=t,this.dispatch({type:`microphone_frame`}),this.state.transport!==`udp`&&this.socket?.readyState===WebSocket.OPEN&&(this.socket.bufferedAmount>P?this.loseSocket(this.socket):this.socket.send(this.state.muted?new ArrayBuffer(e.byteLength):e))}queueMark(e){this.state.transport===`udp`?setTimeout(()=>this.dispatch({type:`mark_played`,name:e}),60):this.audio?.play({type:`mark`,name:e})}openRtc(){this.audio&&(this.closeRtc(),this.rtc=d.open(this.audio,{offer:e=>this.dispatch({type:`rtc_offered`,sdp:e}),failed:()=>this.dispatch({type:`rtc_failed`})}))}closeRtc(){this.rtc?.close(),this.rtc=null}async placeCall(){try{this.dispatch({type:`call_placed`,call:await this.options.placeCall()})}catch(e){this.dispatch({type:`call_refused`,refusal:this.options.refusal(e)})}}openSocket(e){if(!h(this.state))return;this.closeSocket();let t=new WebSocket(e);t.binaryType=`arraybuffer`,t.onopen=()=>this.dispatch({type:`socket_opened`}),t.onclose=e=>{this.socket===t&&(this.socket=null,this.dispatch({type:`socket_closed`,code:e.code}))},t.onmessage=e=>{if(typeof e.data!=`string`){this.audio?.play({type:`audio`,pcm:e.data});return}let t=c(e.data);t&&this.dispatch({type:`message`,message:t})},this.socket=t}loseSocket(e){this.socket=null,e.close(F),this.dispatch({type:`socket_closed`,code:F})}closeSocket(){clearTimeout(this.retry);let e=this.socket;this.socket=null,e?.close(1e3)}release(){this.closeRtc(),this.closeSocket(),this.audio?.close(),this.audio=null,this.levels.microphone=0,this.levels.speaker=0}keepTime(){h(this.state)?this.timer??=setInterval(()=>this.dispatch({type:`tick`}),N):(clearInterval(this.timer),this.timer=void 0)}};function L(e){switch(e.kind){case`denied`:return`The microphone is blocked. Allow it in the address bar, then press Talk.`;case`no_device`:return`No microphone was found. Connect one, then press Talk.`;case`device_busy`:return`Another program uses the microphone. Close it, then press Talk.`;case`insecure`:return`Browsers give the microphone only to pages that come over https, or from this machine.`;case`timeout`:return`The call did not connect. Check the network, then press Talk.`;case`expired`:return`The call’s address has expired or was used before. Press Talk for a new one.`;case`service`:return e.detail}}var R={agent_hangup:`The agent hung up.`,caller_hangup:`You ended the call.`,api_hangup:`The call was ended through the API.`,canceled:`The call was canceled.`,transferred:`The call was transferred.`,silence:`Nobody spoke, so the agent hung up.`,max_duration:`The call reached its longest duration.`,drained:`The service stopped.`,voicemail:`The agent reached a voicemail.`,lost:`The connection was lost.`,provider_timeout:`A model did not answer in time.`,config_error:`The agent’s settings do not work: a provider refuses them.`,pipeline_error:`A provider failed.`,no_answer:`The call was not connected in time.`,no_media:`No audio arrived.`};function z(e){return R[e??``]??`The call has ended.`}function B(e,t,n,r){switch(e.phase){case`asking`:return`Allow the microphone.`;case`connecting`:return`Connecting to ${t}`;case`reconnecting`:return`Connection lost. ${r} s left`;case`live`:return e.microphone===`lost`?`The microphone is gone. Looking for another one.`:e.microphone===`missing`?`No microphone: the agent does not hear you. Connect one, or try again.`:e.muted?n?`You are muted. The agent does not hear you.`:`You are muted.`:e.agent===`speaking`?`${t} is speaking. Talk over it to interrupt.`:e.agent===`thinking`?`${t} is thinking.`:`${t} is listening.`;default:return``}}function V(e,t){return{url:e.token?H(e.token,t):null,tokenUrl:e.tokenUrl??null,label:e.label??`Talk to us`,agent:e.agent??`Agent`,target:e.target??null}}function H(e,t){if(/^wss?:\/\//.test(e))return e;let n=new URL(`media/web/${encodeURIComponent(e)}`,t);return n.protocol=n.protocol===`http:`?`ws:`:`wss:`,n.href}function U(e,t){if(typeof e!=`object`||!e)return null;let{url:n,token:r,web:i}=e;return typeof n==`string`?H(n,t):typeof r==`string`?H(r,t):i===void 0?null:U(i,t)}var W=`:host {
  all: initial;
  color-scheme: light dark;
}
.frame {
  display: inline-grid;
  justify-items: end;
  gap: 8px;
  font:
    14px/20px system-ui,
    sans-serif;
  color: light-dark(#16181d, #edeef2);
}
.corner {
  position: fixed;
  right: 16px;
  bottom: 16px;
  z-index: 2147483000;
}
[hidden] {
  display: none !important;
}
.card {
  box-sizing: border-box;
  width: min(320px, calc(100vw - 32px));
  padding: 12px 16px;
  border: 1px solid light-dark(#e6e7ec, #25272f);
  border-radius: 12px;
  background: light-dark(#fff, #121318);
  box-shadow: 0 8px 24px -6px rgb(0 0 0 / 24%);
}
.status {
  margin: 0;
  color: light-dark(#4b5060, #a9aebc);
}
.log {
  max-height: 240px;
  margin-top: 8px;
  overflow-y: auto;
}
.lines {
  display: grid;
  gap: 8px;
  margin: 0;
  padding: 0;
  list-style: none;
}
.lines strong {
  display: block;
  font-weight: 600;
}
.agent strong {
  color: light-dark(#4450d4, #8e98ff);
}
.caller strong {
  color: light-dark(#0e7569, #4fc4b8);
}
.unheard {
  color: light-dark(#656b7b, #8a90a1);
}
.buttons {
  display: flex;
  gap: 8px;
}
button {
  min-height: 44px;
  padding: 0 20px;
  border: 0;
  border-radius: 22px;
  font:
    500 15px/20px system-ui,
    sans-serif;
  cursor: pointer;
}
button:focus-visible {
  outline: 2px solid light-dark(#4450d4, #8e98ff);
  outline-offset: 2px;
}
.talk {
  background: light-dark(#16181d, #edeef2);
  color: light-dark(#fff, #121318);
}
.end {
  background: light-dark(#c02733, #b8323d);
  color: #fff;
}
.mute {
  border: 1px solid light-dark(#cfd2db, #3a3d49);
  background: light-dark(#fff, #121318);
  color: inherit;
}
`,G=class{options;host=document.createElement(`div`);card=q(`section`,`card`);status=q(`p`,`status`);log=q(`div`,`log`);lines=q(`ol`,`lines`);mute=q(`button`,`mute`);talk=q(`button`,`talk`);constructor(e,t){this.options=e;let n=this.host.attachShadow({mode:`open`}),r=new CSSStyleSheet;r.replaceSync(W),n.adoptedStyleSheets=[r];let i=q(`div`,e.target===null?`frame corner`:`frame`);this.card.setAttribute(`aria-label`,`Call with ${e.agent}`),this.status.setAttribute(`role`,`status`),this.log.setAttribute(`role`,`log`),this.log.setAttribute(`aria-label`,`Transcript`),this.log.tabIndex=0,this.log.append(this.lines),this.mute.type=`button`,this.mute.addEventListener(`click`,t.microphone),this.talk.type=`button`,this.talk.addEventListener(`click`,t.talk);let a=q(`div`,`buttons`);a.append(this.mute,this.talk),this.card.append(this.status,this.log),i.append(this.card,a),n.append(i)}draw(e,t,n){let{agent:r,label:i}=this.options,a=h(e);this.card.hidden=e.phase===`idle`,this.status.textContent=t??(e.phase===`ended`?z(e.endReason):B(e,r,!1,5)),this.log.hidden=e.lines.length===0,this.drawLines(e),this.mute.hidden=e.phase!==`live`;let o=e.microphone===`works`;this.mute.textContent=o?e.muted?`Unmute`:`Mute`:`No microphone`,this.mute.disabled=e.microphone===`lost`,this.mute.setAttribute(`aria-pressed`,String(o&&e.muted)),this.talk.className=a?`talk end`:`talk`,this.talk.textContent=a?e.phase===`live`?`End call`:`Cancel`:i,this.talk.hidden=!n}drawLines(e){for(e.lines.forEach((e,t)=>{let[n,r,i]=(this.lines.children[t]??this.lines.appendChild(K(e.role))).children;n&&(n.textContent=e.role===`agent`?this.options.agent:`You`),r&&(r.textContent=e.text),i&&(i.textContent=e.unheard)});this.lines.children.length>e.lines.length;)this.lines.lastElementChild?.remove();this.log.scrollTop=this.log.scrollHeight}};function K(e){let t=q(`li`,e);return t.append(q(`strong`),q(`span`),q(`span`,`unheard`)),t}function q(e,t=``){let n=document.createElement(e);return n.className=t,n}var J=document.currentScript,Y=class extends Error{};async function X(e,t){if(e.tokenUrl===null){if(e.url===null)throw new Y(`The page gave no token.`);let t=e.url;return e.url=null,{id:null,url:t}}let n=await fetch(e.tokenUrl,{method:`POST`,credentials:`include`}),r=await n.json().catch(()=>null),i=n.ok?U(r,t):null;if(i===null)throw new Y(`Calls are not possible at the moment.`);return{id:null,url:i}}function Z(e){return{kind:`service`,status:0,code:`token`,detail:e instanceof Y?e.message:`Calls are not possible at the moment.`}}function Q(e){let t=e.src,n=V({...e.dataset},t),r=new I({worklets:{microphone:$(`// src/talk/resample.ts
var e = t();
function t() {
	let e = /* @__PURE__ */ new Float32Array(2050);
	for (let t = 0; t <= 2048; t++) {
		let n = t / 128, r = n === 0 ? 1 : Math.sin(Math.PI * n) / (Math.PI * n), i = Math.PI * n / 16;
		e[t] = r * (.42 + .5 * Math.cos(i) + .08 * Math.cos(2 * i));
	}
	return e;
}
var n = class {
	step;
	scale;
	reach;
	history = /* @__PURE__ */ new Float32Array();
	position;
	constructor(e, t) {
		this.step = e / t, this.scale = .9 * Math.min(1, t / e), this.reach = Math.ceil(16 / this.scale), this.history = new Float32Array(this.reach), this.position = this.reach;
	}
	push(e) {
		let t = new Float32Array(this.history.length + e.length);
		t.set(this.history), t.set(e, this.history.length);
		let n = Math.max(0, Math.ceil((t.length - this.reach - this.position) / this.step)), r = new Float32Array(n);
		for (let e = 0; e < n; e++) r[e] = this.at(t, this.position + e * this.step);
		let i = this.position + n * this.step, a = Math.max(0, Math.floor(i) - this.reach);
		return this.history = t.slice(a), this.position = i - a, r;
	}
	at(t, n) {
		let r = Math.ceil(n - this.reach), i = Math.floor(n + this.reach), a = 0;
		for (let o = r; o <= i; o++) {
			let r = Math.abs(o - n) * this.scale * 128, i = Math.floor(r), s = e[i] ?? 0, c = e[i + 1] ?? 0;
			a += (t[o] ?? 0) * (s + (c - s) * (r - i));
		}
		return a * this.scale;
	}
};
function r(e) {
	return Int16Array.from(e, (e) => Math.max(-1, Math.min(1, e)) * 32767);
}
function i(e) {
	let t = 0;
	for (let n of e) t += n * n;
	let n = Math.sqrt(t / Math.max(1, e.length));
	return Math.max(0, Math.min(1, 1 + 20 * Math.log10(n + 1e-9) / 50));
}
// src/talk/microphone.worklet.ts
var a = 16e3, o = a / 50, s = class extends AudioWorkletProcessor {
	resampler = new n(sampleRate, a);
	frame = new Float32Array(o);
	filled = 0;
	process(e) {
		let t = e[0]?.[0];
		return t && this.take(this.resampler.push(t)), !0;
	}
	take(e) {
		for (let t of e) if (this.frame[this.filled++] = t, this.filled === o) {
			let e = r(this.frame).buffer;
			this.port.postMessage({
				pcm: e,
				loudness: i(this.frame)
			}, [e]), this.filled = 0;
		}
	}
};
registerProcessor("microphone", s);
`),speaker:$(`// src/talk/playout.ts
var e = class {
	blocks = [];
	offset = 0;
	queued = 0;
	marks = [];
	priming = !0;
	waited = 0;
	prime;
	limit;
	constructor(e) {
		this.prime = e * 40 / 1e3, this.limit = e * 200 / 1e3;
	}
	get length() {
		return this.queued;
	}
	push(e) {
		e.length !== 0 && (this.blocks.push(e), this.queued += e.length, this.queued > this.limit && this.skip(this.queued - this.limit));
	}
	mark(e) {
		this.marks.push({
			name: e,
			at: this.queued
		});
	}
	clear() {
		this.blocks = [], this.offset = 0, this.queued = 0, this.priming = !0, this.waited = 0, this.marks = [];
	}
	read(e) {
		if (e.fill(0), !this.isPrimed(e.length)) return this.queued === 0 ? this.due() : [];
		let t = 0;
		for (; t < e.length;) {
			let n = this.blocks[0];
			if (!n) break;
			let r = n.subarray(this.offset, this.offset + e.length - t);
			e.set(r, t), t += r.length, this.skip(r.length);
		}
		return t < e.length && (this.priming = !0, this.waited = 0), this.due();
	}
	isPrimed(e) {
		return this.queued > 0 && this.priming && (this.priming = this.queued < this.prime && this.waited < this.prime, this.waited += e), !this.priming;
	}
	skip(e) {
		this.queued -= e;
		for (let t of this.marks) t.at -= e;
		this.offset += e;
		for (let e = this.blocks[0]; e && this.offset >= e.length; e = this.blocks[0]) this.offset -= e.length, this.blocks.shift();
	}
	due() {
		let e = this.marks.filter((e) => e.at <= 0 || this.queued === 0);
		return this.marks = this.marks.filter((t) => !e.includes(t)), e.map((e) => e.name);
	}
}, t = 16, n = 128, r = .9, i = a();
function a() {
	let e = /* @__PURE__ */ new Float32Array(2050);
	for (let r = 0; r <= 2048; r++) {
		let i = r / n, a = i === 0 ? 1 : Math.sin(Math.PI * i) / (Math.PI * i), o = Math.PI * i / t;
		e[r] = a * (.42 + .5 * Math.cos(o) + .08 * Math.cos(2 * o));
	}
	return e;
}
var o = class {
	step;
	scale;
	reach;
	history = /* @__PURE__ */ new Float32Array();
	position;
	constructor(e, n) {
		this.step = e / n, this.scale = r * Math.min(1, n / e), this.reach = Math.ceil(t / this.scale), this.history = new Float32Array(this.reach), this.position = this.reach;
	}
	push(e) {
		let t = new Float32Array(this.history.length + e.length);
		t.set(this.history), t.set(e, this.history.length);
		let n = Math.max(0, Math.ceil((t.length - this.reach - this.position) / this.step)), r = new Float32Array(n);
		for (let e = 0; e < n; e++) r[e] = this.at(t, this.position + e * this.step);
		let i = this.position + n * this.step, a = Math.max(0, Math.floor(i) - this.reach);
		return this.history = t.slice(a), this.position = i - a, r;
	}
	at(e, t) {
		let r = Math.ceil(t - this.reach), a = Math.floor(t + this.reach), o = 0;
		for (let s = r; s <= a; s++) {
			let r = Math.abs(s - t) * this.scale * n, a = Math.floor(r), c = i[a] ?? 0, l = i[a + 1] ?? 0;
			o += (e[s] ?? 0) * (c + (l - c) * (r - a));
		}
		return o * this.scale;
	}
};
function s(e) {
	return Float32Array.from(e, (e) => e / 32768);
}
function c(e) {
	let t = 0;
	for (let n of e) t += n * n;
	let n = Math.sqrt(t / Math.max(1, e.length));
	return Math.max(0, Math.min(1, 1 + 20 * Math.log10(n + 1e-9) / 50));
}
// src/talk/speaker.worklet.ts
var l = 16e3, u = 16, d = class extends AudioWorkletProcessor {
	rate;
	resampler;
	playout = new e(sampleRate);
	blocks = 0;
	loudest = 0;
	constructor(e) {
		super();
		let { rate: t } = e?.processorOptions ?? {};
		this.rate = t ?? l, this.resampler = new o(this.rate, sampleRate), this.port.onmessage = (e) => this.take(e.data);
	}
	process(e, t) {
		let n = t[0]?.[0];
		return n && (this.passed(this.playout.read(n)), e[0]?.[0]?.forEach((e, t) => n[t] = (n[t] ?? 0) + e), this.loudest = Math.max(this.loudest, c(n)), ++this.blocks % u === 0 && (this.tell({
			type: "loudness",
			loudness: this.loudest
		}), this.loudest = 0)), !0;
	}
	take(e) {
		switch (e.type) {
			case "audio":
				this.playout.push(this.resampler.push(s(new Int16Array(e.pcm))));
				break;
			case "mark":
				this.playout.mark(e.name);
				break;
			case "clear": this.resampler = new o(this.rate, sampleRate), this.playout.clear();
		}
	}
	passed(e) {
		for (let t of e) this.tell({
			type: "mark",
			name: t
		});
	}
	tell(e) {
		this.port.postMessage(e);
	}
};
registerProcessor("speaker", d);
`)},placeCall:()=>X(n,t),refusal:Z,hangUp:()=>void 0}),i=new G(n,{talk:()=>r.dispatch({type:h(r.state)?`end`:`talk`}),microphone:()=>r.pressMicrophone()}),a=()=>{let{refusal:e}=r.state,t=n.tokenUrl!==null||n.url!==null||h(r.state);i.draw(r.state,e?L(e):null,t)};r.subscribe(a),window.addEventListener(`pagehide`,()=>r.dispose()),((n.target===null?document.body:document.querySelector(n.target))??document.body).append(i.host),a()}function $(e){return URL.createObjectURL(new Blob([e],{type:`text/javascript`}))}J&&(document.body?Q(J):document.addEventListener(`DOMContentLoaded`,()=>Q(J),{once:!0}))})();