{{- define "switchhook.name" -}}
{{- if contains "switchhook" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-switchhook" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "switchhook.selector" -}}
app.kubernetes.io/name: switchhook
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "switchhook.labels" -}}
{{ include "switchhook.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "switchhook.replicas" -}}
{{- if eq .Values.database "sqlite" }}1{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}

{{- define "switchhook.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
